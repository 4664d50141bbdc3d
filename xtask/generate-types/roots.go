package main

import (
	"reflect"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The group versions a v1.34 server serves by default.
var served = []schema.GroupVersion{
	{Group: "", Version: "v1"},
	{Group: "admissionregistration.k8s.io", Version: "v1"},
	{Group: "apiextensions.k8s.io", Version: "v1"},
	{Group: "apiregistration.k8s.io", Version: "v1"},
	{Group: "apps", Version: "v1"},
	{Group: "authentication.k8s.io", Version: "v1"},
	{Group: "authorization.k8s.io", Version: "v1"},
	{Group: "autoscaling", Version: "v1"},
	{Group: "autoscaling", Version: "v2"},
	{Group: "batch", Version: "v1"},
	{Group: "certificates.k8s.io", Version: "v1"},
	{Group: "coordination.k8s.io", Version: "v1"},
	{Group: "discovery.k8s.io", Version: "v1"},
	{Group: "events.k8s.io", Version: "v1"},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"},
	{Group: "networking.k8s.io", Version: "v1"},
	{Group: "node.k8s.io", Version: "v1"},
	{Group: "policy", Version: "v1"},
	{Group: "rbac.authorization.k8s.io", Version: "v1"},
	{Group: "resource.k8s.io", Version: "v1"},
	{Group: "scheduling.k8s.io", Version: "v1"},
	{Group: "storage.k8s.io", Version: "v1"},
}

// Registered in a group but never the body of a request.
var unserved = map[string]bool{
	"RangeAllocation":     true,
	"SerializedReference": true,
	"PodStatusResult":     true,
}

// roots lists the types of all served kinds, and those every group shares.
func roots() []reflect.Type {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(apiregistrationv1.AddToScheme(scheme))

	var types []reflect.Type
	for _, version := range served {
		for kind, t := range scheme.KnownTypes(version) {
			shared := strings.HasSuffix(t.PkgPath(), "/meta/v1")
			query := strings.HasSuffix(kind, "Options")
			if !shared && !query && !unserved[kind] {
				types = append(types, t)
			}
		}
	}
	sort.Slice(types, func(i, j int) bool { return types[i].String() < types[j].String() })
	return append(types, sharedRoots()...)
}

func sharedRoots() []reflect.Type {
	values := []any{
		admissionv1.AdmissionReview{},
		metav1.APIGroup{},
		metav1.APIGroupList{},
		metav1.APIResourceList{},
		metav1.APIVersions{},
		metav1.CreateOptions{},
		metav1.DeleteOptions{},
		metav1.GetOptions{},
		metav1.ListOptions{},
		metav1.PartialObjectMetadata{},
		metav1.PartialObjectMetadataList{},
		metav1.PatchOptions{},
		metav1.Status{},
		metav1.UpdateOptions{},
		metav1.WatchEvent{},
	}
	types := make([]reflect.Type, len(values))
	for i, value := range values {
		types[i] = reflect.TypeOf(value)
	}
	return types
}
