package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// typedInformer watches config maps and pods through the generated clients.
func typedInformer(ctx context.Context, c clients) error {
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Informer()
	changes, err := follow(ctx, c, factory.Core().V1().ConfigMaps().Informer(), factory.Start)
	if err != nil {
		return err
	}
	if err := changes(); err != nil {
		return err
	}
	say("pods", fields{"synced": cache.WaitForCacheSync(ctx.Done(), pods.HasSynced)})
	maps, err := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace).Get("before")
	if err != nil {
		return err
	}
	say("cached", fields{"name": maps.Name, "data": maps.Data})
	return nil
}

// dynamicInformer watches without types.
func dynamicInformer(ctx context.Context, c clients) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, namespace, nil)
	changes, err := follow(ctx, c, factory.ForResource(configMaps).Informer(), factory.Start)
	if err != nil {
		return err
	}
	return changes()
}

// metadataInformer watches names and labels only, as garbage collectors do.
func metadataInformer(ctx context.Context, c clients) error {
	factory := metadatainformer.NewFilteredSharedInformerFactory(c.metadata, 0, namespace, nil)
	changes, err := follow(ctx, c, factory.ForResource(configMaps).Informer(), factory.Start)
	if err != nil {
		return err
	}
	return changes()
}

// follow starts an informer on a collection that has one object, and returns a function that makes
// one change of each sort and waits until the informer has told of it.
func follow(
	ctx context.Context, c clients, informer cache.SharedIndexInformer, start func(<-chan struct{}),
) (func() error, error) {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, configMap("before"), metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	told := make(chan fields, 16)
	tell := func(what string, object any, initial bool) {
		meta, ok := object.(metav1.Object)
		if !ok {
			told <- fields{"type": fmt.Sprintf("%T", object)}
			return
		}
		told <- fields{"event": what, "name": meta.GetName(), "labels": meta.GetLabels(), "initial": initial}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { tell("added", object, initial) },
		UpdateFunc: func(_, object any) { tell("updated", object, false) },
		DeleteFunc: func(object any) { tell("deleted", object, false) },
	})
	if err != nil {
		return nil, err
	}
	start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, errors.New("the informer never synced")
	}
	next := func() error {
		select {
		case change := <-told:
			say("change", change)
			return nil
		case <-ctx.Done():
			return errors.New("the informer missed a change")
		}
	}
	if err := next(); err != nil {
		return nil, err
	}
	return func() error { return change(ctx, c, next) }, nil
}

// change makes one change of each sort.
func change(ctx context.Context, c clients, next func() error) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	created, err := maps.Create(ctx, configMap("during"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := next(); err != nil {
		return err
	}
	created.Labels = map[string]string{"changed": "yes"}
	if _, err := maps.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := next(); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "during", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return next()
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Data:       map[string]string{"a": "1"},
	}
}
