//go:build !node

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// activityPath is where an API server tells when a user or program last called it.
const activityPath = "/kqueen.io/activity"

// activity is when an API server was called last by what may be idle: not by Kubernetes, nodes or KQueen, which call without end.
type activity struct {
	last atomic.Int64 // in nanoseconds since 1970
	open atomic.Int64 // calls that go on, such as watches
}

func newActivity() *activity {
	a := &activity{}
	a.last.Store(time.Now().UnixNano())
	return a
}

// note counts the calls that h answers, after their users are known. It answers itself at activityPath, for who may read that.
func (a *activity) note(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == activityPath {
			a.tell(w)
			return
		}
		by, ok := request.UserFrom(r.Context())
		if !ok || unending(by, r.UserAgent()) {
			h.ServeHTTP(w, r)
			return
		}
		a.open.Add(1)
		defer func() {
			a.last.Store(time.Now().UnixNano())
			a.open.Add(-1)
		}()
		h.ServeHTTP(w, r)
	})
}

func (a *activity) tell(w http.ResponseWriter) {
	last := time.Unix(0, a.last.Load())
	if a.open.Load() > 0 {
		last = time.Now()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]time.Time{"lastRequestTime": last.UTC()})
}

// unending says whether calls of a user go on for as long as there is a cluster.
func unending(by user.Info, agent string) bool {
	if strings.HasPrefix(agent, "kqueen/") || slices.Contains([]string{
		user.Anonymous, user.APIServerUser, user.KubeControllerManager, user.KubeScheduler, user.KubeProxy,
	}, by.GetName()) {
		return true
	}
	return slices.ContainsFunc(by.GetGroups(), func(group string) bool {
		return group == user.NodesGroup || group == "system:bootstrappers" || group == "system:serviceaccounts:kube-system"
	})
}
