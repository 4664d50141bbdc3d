package main

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1 "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
)

// events records through both recorders; both kinds of event are the same stored objects.
func events(ctx context.Context, c clients) error {
	about, err := c.typed.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("subject"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	about.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	seen, err := c.typed.CoreV1().Events(namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer seen.Stop()

	old := record.NewBroadcaster()
	old.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: c.typed.CoreV1().Events("")})
	defer old.Shutdown()
	recorder := old.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	recorder.Event(about, corev1.EventTypeNormal, "Began", "through core")
	if err := sayEvent(ctx, seen); err != nil {
		return err
	}
	recorder.Event(about, corev1.EventTypeNormal, "Began", "through core")
	if err := sayEvent(ctx, seen); err != nil {
		return err
	}

	recent := eventsv1.NewBroadcaster(&eventsv1.EventSinkImpl{Interface: c.typed.EventsV1()})
	recent.StartRecordingToSink(ctx.Done())
	defer recent.Shutdown()
	recent.NewRecorder(scheme.Scheme, "new").Eventf(about, nil, corev1.EventTypeWarning, "Ended", "Ending", "through %s", "events.k8s.io")
	if err := sayEvent(ctx, seen); err != nil {
		return err
	}
	both, err := c.typed.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	say("list", fields{"events": len(both.Items)})
	return nil
}

// sayEvent tells of the next event somebody recorded.
func sayEvent(ctx context.Context, seen watch.Interface) error {
	select {
	case change := <-seen.ResultChan():
		event, ok := change.Object.(*corev1.Event)
		if !ok {
			return errors.New("not an event")
		}
		say("event", fields{
			"change": change.Type, "reason": event.Reason, "message": event.Message, "count": event.Count,
			"controller": event.ReportingController, "component": event.Source.Component,
			"about": event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name,
		})
		return nil
	case <-ctx.Done():
		return errors.New("no event came")
	}
}
