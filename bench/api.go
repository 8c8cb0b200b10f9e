package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// pageSize is how many objects a list of the REST API has when the caller does not say how many.
const pageSize = 50

// apiResult is what the REST API takes, for a member of an organization that has all the clusters.
type apiResult struct {
	Clusters int `json:"clusters"`
	// Alone is with that organization alone, Beside with otherOrganizations more, which have as many clusters together.
	Alone  apiTimes `json:"alone"`
	Beside apiTimes `json:"beside"`
	// IdlePercent is the share of one core that kqueen takes without requests, which shows that nothing works on the
	// clusters.
	IdlePercent float64 `json:"idlePercent"`
}

// apiTimes are what calls took, in seconds, by name.
type apiTimes map[string][]float64

// note adds a call that has just ended.
func (t apiTimes) note(call string, begin time.Time) {
	t[call] = append(t[call], time.Since(begin).Seconds())
}

// The measured calls. The direct ones are an administrator's at the admin plane's API server.
const (
	firstPage, directPage   = "list, first page", "list, first page, direct"
	newestPage, directWhole = "list, newest first", "list, all, direct"
	oneObject, directObject = "get", "get, direct"
)

// filled fills an installation with clusters that no driver works on, and returns a member who may see them.
func filled(ctx context.Context, inst *installation, clusters int) (*member, error) {
	m, err := newMember(ctx, inst)
	if err != nil {
		return nil, fmt.Errorf("create a member: %w", err)
	}
	if err := inst.quietly(ctx, func() error { return fill(ctx, inst, namespace, clusters) }); err != nil {
		return nil, fmt.Errorf("make %d clusters: %w", clusters, err)
	}
	return m, nil
}

// measureAPI asks for the clusters of an installation that is filled, as a member does.
func measureAPI(ctx context.Context, inst *installation, member *member, clusters, requests int) (apiResult, error) {
	r := apiResult{Clusters: clusters}
	full, err := settled(ctx, inst, managerSettles)
	if err != nil {
		return r, err
	}
	if r.IdlePercent, err = idlePercent(ctx, full.PID); err != nil {
		return r, err
	}
	if r.Alone, err = member.measure(ctx, inst, requests); err != nil {
		return r, err
	}
	if err := inst.quietly(ctx, func() error { return fillOthers(ctx, inst, clusters) }); err != nil {
		return r, fmt.Errorf("make %d more organizations: %w", otherOrganizations, err)
	}
	if _, err := settled(ctx, inst, managerSettles); err != nil {
		return r, err
	}
	r.Beside, err = member.measure(ctx, inst, requests)
	return r, err
}

// measure asks in turn, so that a machine whose speed drifts treats all alike.
func (m *member) measure(ctx context.Context, inst *installation, requests int) (apiTimes, error) {
	times, path := apiTimes{}, "/organizations/default/clusters"
	list := func(query string) func() error {
		return func() error {
			var page rest.List
			if err := m.call(ctx, http.MethodGet, path+query, nil, &page); err != nil {
				return err
			}
			return wantItems(len(page.Items))
		}
	}
	calls := []struct {
		name string
		do   func() error
	}{
		{firstPage, list("")},
		{directPage, func() error {
			page := &v1alpha1.ClusterList{}
			err := inst.admin.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize))
			if err != nil {
				return err
			}
			return wantItems(len(page.Items))
		}},
		{newestPage, list("?sort=-createdAt")},
		{oneObject, func() error { return m.call(ctx, http.MethodGet, path+"/"+nameOf(requests/2), nil, &rest.Object{}) }},
		{directObject, func() error {
			return inst.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: nameOf(requests / 2)}, &v1alpha1.Cluster{})
		}},
	}
	for n := range requests {
		for _, c := range calls {
			begin := time.Now()
			if err := c.do(); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			times[c.name] = append(times[c.name], time.Since(begin).Seconds())
		}
		// What a client would do without the REST API to see the newest; it is slow, so it is asked for more seldom.
		if n%10 == 0 {
			begin := time.Now()
			if err := inst.admin.List(ctx, &v1alpha1.ClusterList{}, client.InNamespace(namespace)); err != nil {
				return nil, err
			}
			times[directWhole] = append(times[directWhole], time.Since(begin).Seconds())
		}
	}
	return times, nil
}

func wantItems(n int) error {
	if n != pageSize {
		return fmt.Errorf("a page has %d objects, want %d", n, pageSize)
	}
	return nil
}

func (r apiResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w)
	for _, part := range []struct {
		title string
		times apiTimes
	}{
		{fmt.Sprintf("REST API, %d CLUSTERS IN ONE ORGANIZATION", r.Clusters), r.Alone},
		{fmt.Sprintf("BESIDE %d ORGANIZATIONS WITH %d MORE", otherOrganizations, r.Clusters), r.Beside},
	} {
		fmt.Fprintf(w, "%s\tAPI p50\tp99\tDIRECT p50\tp99\tRATIO p50\tp99\n", part.title)
		for _, row := range [][2]string{{firstPage, directPage}, {newestPage, directWhole}, {oneObject, directObject}} {
			ours, theirs := part.times[row[0]], part.times[row[1]]
			fmt.Fprintf(w, "%s\t%.1fms\t%.1fms\t%.1fms\t%.1fms\t%.2f\t%.2f\n", row[0], 1000*median(ours), 1000*p99(ours),
				1000*median(theirs), 1000*p99(theirs), median(ours)/median(theirs), p99(ours)/p99(theirs))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "KQUEEN\nprocessor, without requests\t%.1f%%\n", r.IdlePercent)
	_ = w.Flush()
}

// percentile is the value that so many of a hundred do not exceed.
func percentile(values []float64, most int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)*most/100, len(sorted)-1)]
}

func p99(values []float64) float64 { return percentile(values, 99) }

// nameOf is the name of the n-th cluster.
func nameOf(n int) string { return fmt.Sprintf("cluster-%04d", n) }
