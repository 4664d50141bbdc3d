package main

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaderElection has one candidate lead and step down, and a second take over.
func leaderElection(ctx context.Context, c clients) error {
	led := make(chan string, 2)
	first, stepDown := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		campaign(first, c, "first", led)
		close(done)
	}()
	if err := expectLeader(ctx, led); err != nil {
		return err
	}
	second, stop := context.WithCancel(ctx)
	defer stop()
	go campaign(second, c, "second", led)
	stepDown()
	<-done
	if err := expectLeader(ctx, led); err != nil {
		return err
	}
	lease, err := c.typed.CoordinationV1().Leases(namespace).Get(ctx, "election", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("lease", fields{"holder": lease.Spec.HolderIdentity, "transitions": lease.Spec.LeaseTransitions})

	// A lease is never overwritten blindly.
	lease.ResourceVersion = ""
	_, err = c.typed.CoordinationV1().Leases(namespace).Update(ctx, lease, metav1.UpdateOptions{})
	sayError("blind update", err)
	return nil
}

func campaign(ctx context.Context, c clients, identity string, led chan<- string) {
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "election", Namespace: namespace},
			Client:     c.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   3 * time.Second,
		RenewDeadline:   2 * time.Second,
		RetryPeriod:     100 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { led <- identity },
			OnStoppedLeading: func() {},
		},
	})
}

func expectLeader(ctx context.Context, led <-chan string) error {
	select {
	case identity := <-led:
		say("leader", fields{"identity": identity})
		return nil
	case <-ctx.Done():
		return errors.New("nobody leads")
	}
}
