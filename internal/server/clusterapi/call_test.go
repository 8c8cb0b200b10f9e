package clusterapi

import (
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	for name, tc := range map[string]struct {
		method, target string
		upgrade        bool
		want           call
		refused        bool
	}{
		"Get":        {"GET", "/clusters/blue/shop/api/v1/pods?limit=5", false, call{"blue", "shop", "/api/v1/pods", "/api/v1/pods", false, ""}, false},
		"Slash":      {"GET", "/clusters/blue/shop/apis/", false, call{"blue", "shop", "/apis/", "/apis/", false, ""}, false},
		"Root":       {"GET", "/clusters/blue/shop/version", false, call{"blue", "shop", "/version", "/version", false, ""}, false},
		"Escaped":    {"GET", "/clusters/blue/shop/api/v1/namespaces/a/configmaps/b%20c", false, call{"blue", "shop", "/api/v1/namespaces/a/configmaps/b c", "/api/v1/namespaces/a/configmaps/b%20c", false, ""}, false},
		"Watch":      {"GET", "/clusters/blue/shop/api/v1/pods?watch=1", false, call{"blue", "shop", "/api/v1/pods", "/api/v1/pods", true, ""}, false},
		"NoWatch":    {"GET", "/clusters/blue/shop/api/v1/pods?watch=false", false, call{"blue", "shop", "/api/v1/pods", "/api/v1/pods", false, ""}, false},
		"Follow":     {"GET", "/clusters/blue/shop/api/v1/namespaces/a/pods/b/log?follow=true", false, call{"blue", "shop", "/api/v1/namespaces/a/pods/b/log", "/api/v1/namespaces/a/pods/b/log", true, ""}, false},
		"Exec":       {"GET", "/clusters/blue/shop/api/v1/namespaces/a/pods/b/exec?command=sh", true, call{"blue", "shop", "/api/v1/namespaces/a/pods/b/exec", "/api/v1/namespaces/a/pods/b/exec", true, "connect"}, false},
		"Delete":     {"DELETE", "/clusters/blue/shop/api/v1/namespaces/a/pods/b", false, call{"blue", "shop", "/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b", false, "delete"}, false},
		"Metrics":    {"GET", "/clusters/blue/shop/metrics", false, call{}, true},
		"Debug":      {"GET", "/clusters/blue/shop/debug/pprof/", false, call{}, true},
		"Nothing":    {"GET", "/clusters/blue/shop/", false, call{}, true},
		"NoCluster":  {"GET", "/clusters/blue", false, call{}, true},
		"Dots":       {"GET", "/clusters/blue/shop/api/%2e%2e/metrics", false, call{}, true},
		"Slashes":    {"GET", "/clusters/blue/shop/api//v1", false, call{}, true},
		"Hidden":     {"GET", "/clusters/blue/shop/api/v1%2F..%2F..%2Fmetrics", false, call{}, true},
		"OddName":    {"GET", "/clusters/blue%2Fred/shop/api", false, call{}, true},
		"OddCluster": {"GET", "/clusters/blue/%2e%2e/api", false, call{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.target, nil)
			if tc.upgrade {
				r.Header.Set("Upgrade", "websocket")
			}
			got, ok := read(r)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(call{})); ok == tc.refused || !tc.refused && diff != "" {
				t.Errorf("passes: %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}
