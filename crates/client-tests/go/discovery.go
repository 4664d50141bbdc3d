package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// discover reads what the server serves, in each way client-go has.
func discover(_ context.Context, c clients) error {
	client := c.typed.Discovery()
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	say("version", fields{"major": version.Major, "minor": version.Minor})
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	say("aggregated", fields{"has pods": has(lists, "v1", "pods"), "has deployments": has(lists, "apps/v1", "deployments")})
	legacy := discovery.NewDiscoveryClientForConfigOrDie(c.config)
	legacy.UseLegacyDiscovery = true
	preferred, err := legacy.ServerPreferredResources()
	if err != nil {
		return err
	}
	say("legacy", fields{"has jobs": has(preferred, "batch/v1", "jobs")})
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for _, kind := range []schema.GroupKind{{Kind: "Pod"}, {Group: "apps", Kind: "Deployment"}, {Group: "example.com", Kind: "Nothing"}} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil {
			say("no mapping", fields{"error": err.Error()})
			continue
		}
		say("mapping", fields{"resource": mapping.Resource.String(), "scope": mapping.Scope.Name()})
	}
	documents, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	for _, path := range []string{"api/v1", "apis/apps/v1"} {
		document, ok := documents[path]
		if !ok {
			say("no document", fields{"path": path})
			continue
		}
		text, err := document.Schema("application/json")
		if err != nil {
			return err
		}
		say("document", fields{"path": path, "is large": len(text) > 1000})
	}
	return nil
}

// has tells whether a resource is among those of its group and version.
func has(lists []*metav1.APIResourceList, groupVersion, name string) bool {
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if list.GroupVersion == groupVersion && resource.Name == name {
				return true
			}
		}
	}
	return false
}
