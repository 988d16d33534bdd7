package controllers

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/loopscope/loopscope/controllers/engine"
	"github.com/loopscope/loopscope/controllers/internal/lab"
)

// instants calls visit with every time.Time in v and where it is.
func instants(v reflect.Value, at string, visit func(at string, t time.Time)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			instants(v.Elem(), at, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			instants(v.Index(i), at+"[]", visit)
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			visit(at, t)
			return
		}
		for i := range v.NumField() {
			instants(v.Field(i), at+"."+v.Type().Field(i).Name, visit)
		}
	}
}

// A snapshot decides the same on the day after: it holds no reading of a clock
// that the record cannot hold.
func TestSnapshotsHoldWallTimeAlone(t *testing.T) {
	caches := newCaches(t)
	caches.add(t, lab.Deployment("web", "d", "RollingUpdate"), controllerNamed("web", "r", "8", 3))
	caches.deployments.opts.Ledger.Written(engine.Entry{UID: "d", Resource: resourceDeployments, Object: "Deployment web", RV: "99"})
	caches.controllers.opts.Ledger.Written(engine.Entry{UID: "r", Resource: resourceReplicationControllers, Object: "ReplicationController web", RV: "99"})
	for uid, l := range map[types.UID]*engine.Loop{"d": caches.deployments.Loop, "r": caches.controllers.Loop} {
		l.Hold("shop/web", uid, engine.WallTime(time.Now()))
	}
	caches.controllers.Expectations().Expect("shop/web", 2)
	observed, err := caches.deployments.Observe(t.Context(), "shop/web")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, snapshot := range []any{observed.(*deploymentSync).s, turnOf(t, caches).s} {
		instants(reflect.ValueOf(snapshot), "", func(at string, x time.Time) {
			if strings.Contains(x.String(), "m=") || x.Location() != time.UTC {
				t.Errorf("%T%s is %s", snapshot, at, x)
			}
			found[at] = found[at] || !x.IsZero()
		})
	}
	for _, at := range []string{".Now", ".Held", ".Echo[].Since", ".Echo[].Check", ".Expect.Since", ".Expect.Expires"} {
		if !found[at] {
			t.Errorf("%s was not tried: %v", at, found)
		}
	}
}
