package main

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

// writes goes through every sort of write of the generated clients.
func writes(ctx context.Context, c clients) error {
	for _, step := range []func(context.Context, clients) error{
		createsAndUpdates, preconditions, patches, collections, subresources, untyped,
	} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func createsAndUpdates(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	created, err := maps.Create(ctx, configMap("settings"), metav1.CreateOptions{FieldManager: "creator"})
	if err != nil {
		return err
	}
	say("created", fields{"data": created.Data, "managers": managers(created.ManagedFields)})
	_, err = maps.Create(ctx, configMap("settings"), metav1.CreateOptions{})
	sayError("create again", err)
	_, err = maps.Create(ctx, configMap("Bad_Name"), metav1.CreateOptions{})
	sayError("create badly", err)

	stale := created.DeepCopy()
	created.Data["b"] = "2"
	if _, err := maps.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	stale.Data["c"] = "3"
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	sayError("stale update", err)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		latest, err := maps.Get(ctx, "settings", metav1.GetOptions{})
		if err != nil {
			return err
		}
		latest.BinaryData = map[string][]byte{"bytes": {0, 1, 255}}
		_, err = maps.Update(ctx, latest, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	latest, err := maps.Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("updated", fields{"data": latest.Data, "bytes": latest.BinaryData["bytes"]})
	return nil
}

func preconditions(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	current, err := maps.Get(ctx, "settings", metav1.GetOptions{})
	if err != nil {
		return err
	}
	other, old := types.UID("another"), "1"
	sayError("delete another", maps.Delete(ctx, "settings", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}}))
	sayError("delete an old one", maps.Delete(ctx, "settings", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &old}}))
	background := metav1.DeletePropagationBackground
	err = maps.Delete(ctx, "settings", metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion},
		PropagationPolicy: &background,
	})
	if err != nil {
		return err
	}
	_, err = maps.Get(ctx, "settings", metav1.GetOptions{})
	sayError("get after delete", err)
	return nil
}

func patches(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	applied, err := maps.Apply(ctx,
		corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"}),
		metav1.ApplyOptions{FieldManager: "applier"})
	if err != nil {
		return err
	}
	say("applied", fields{"data": applied.Data, "managers": managers(applied.ManagedFields)})
	_, err = maps.Apply(ctx,
		corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "2"}),
		metav1.ApplyOptions{FieldManager: "rival"})
	sayError("apply over", err)
	for _, patch := range []struct {
		kind types.PatchType
		body string
	}{
		{types.MergePatchType, `{"data":{"b":"2"}}`},
		{types.StrategicMergePatchType, `{"data":{"c":"3","a":null}}`},
		{types.JSONPatchType, `[{"op":"test","path":"/metadata/finalizers","value":null},{"op":"add","path":"/data/d","value":"4"}]`},
	} {
		patched, err := maps.Patch(ctx, "applied", patch.kind, []byte(patch.body), metav1.PatchOptions{})
		if err != nil {
			return err
		}
		say("patched", fields{"with": patch.kind, "data": patched.Data})
	}
	return nil
}

func collections(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		labelled := configMap(name)
		labelled.Labels = map[string]string{"set": "s"}
		if _, err := maps.Create(ctx, labelled, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	pages := 0
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		return maps.List(ctx, options)
	}
	paged := pager.New(list)
	paged.PageSize = 2
	var names []string
	err := paged.EachListItem(ctx, metav1.ListOptions{LabelSelector: "set=s"}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil {
		return err
	}
	say("paged", fields{"names": names, "pages": pages})
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "set=s"}); err != nil {
		return err
	}
	left, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "set=s"})
	if err != nil {
		return err
	}
	say("after deleting the collection", fields{"items": len(left.Items), "has a version": left.ResourceVersion != ""})
	return nil
}

func subresources(ctx context.Context, c clients) error {
	deployments := c.typed.AppsV1().Deployments(namespace)
	created, err := deployments.Create(ctx, deployment("web"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("deployment", fields{"replicas": created.Spec.Replicas, "strategy": created.Spec.Strategy.Type, "generation": created.Generation})
	created.Status.Replicas = 3
	created.Status.ObservedGeneration = created.Generation
	updated, err := deployments.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("status", fields{"replicas": updated.Status.Replicas, "generation": updated.Generation})
	scale, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 4
	scale, err = deployments.UpdateScale(ctx, "web", scale, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("scale", fields{"replicas": scale.Spec.Replicas, "now": scale.Status.Replicas, "selector": scale.Status.Selector})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"},
		Spec:       created.Spec.Template.Spec,
	}
	pending, err := c.typed.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("pod", fields{"phase": pending.Status.Phase, "name length": len(pending.Name), "account": pending.Spec.ServiceAccountName})
	return nil
}

func untyped(ctx context.Context, c clients) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "untyped"},
		"data":     map[string]any{"a": "1"},
	}}
	created, err := c.dynamic.Resource(configMaps).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	say("untyped", fields{"kind": created.GetKind(), "has a uid": created.GetUID() != ""})
	partial, err := c.metadata.Resource(configMaps).Namespace(namespace).Get(ctx, "untyped", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("metadata", fields{"name": partial.Name})
	return c.metadata.Resource(configMaps).Namespace(namespace).Delete(ctx, "untyped", metav1.DeleteOptions{})
}

func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

// managers of an object, each with what it did.
func managers(entries []metav1.ManagedFieldsEntry) []string {
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Manager+" "+string(entry.Operation))
	}
	return names
}

// sayError tells how the server refused.
func sayError(what string, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		say(what, fields{"error": err})
		return
	}
	say(what, fields{"code": status.Status().Code, "reason": status.Status().Reason, "message": status.Status().Message})
}
