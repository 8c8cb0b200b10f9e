package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// portalResult is what the list of clusters takes in a browser, for a member of an organization that has all of them.
type portalResult struct {
	Clusters int `json:"clusters"`
	// Times are in milliseconds, by what was done.
	Times map[string]compared `json:"times"`
}

// compared are times of the portal and, of the same run, those of what it is compared with.
type compared struct {
	Portal []float64 `json:"portal"`
	Bare   []float64 `json:"bare"`
}

// measurePortal has a headless browser use the list of clusters: web/e2e/bench.spec.ts says how.
func measurePortal(ctx context.Context, inst *installation, m *member, clusters, rounds int) (portalResult, error) {
	r := portalResult{Clusters: clusters}
	if _, err := settled(ctx, inst, managerSettles); err != nil {
		return r, err
	}
	server, err := url.Parse(m.url)
	if err != nil {
		return r, err
	}
	key, err := m.serverKey(ctx, server.Host)
	if err != nil {
		return r, fmt.Errorf("read the key of %s: %w", server.Host, err)
	}
	out := filepath.Join(inst.dir, "portal.json")
	node, err := filepath.Abs(filepath.Join("bin", "tools", "node", "bin"))
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join("node_modules", ".bin", "playwright"), "test", "bench.spec.ts")
	cmd.Dir = "web"
	// The browser that users have, and not the one without windows that tests use.
	cmd.Env = append(os.Environ(), "CHROMIUM="+cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium"), "PATH="+node+":"+os.Getenv("PATH"), "KQUEEN_SERVER=https://"+server.Host, "KQUEEN_KEY="+key,
		"PORTAL_USER="+memberName, "PORTAL_PASSWORD="+memberPassword, "BENCH_ROUNDS="+strconv.Itoa(rounds), "BENCH_OUT="+out)
	if said, err := cmd.CombinedOutput(); err != nil {
		return r, fmt.Errorf("use the portal; `make portal` and `hack/packages chromium` install what that needs: %w: %s", err, said)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(data, &r.Times)
}

func (r portalResult) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, part := range []struct {
		title, bare string
		first       bool
	}{
		{fmt.Sprintf("FIRST PAGE IN A BROWSER, %d CLUSTERS", r.Clusters), "EMPTY ORGANIZATION", true},
		{"OTHER ROWS OF THESE", "BARE CALL", false},
	} {
		fmt.Fprintf(w, "\n%s\tPORTAL p50\tp95\t%s p50\tp95\tRATIO p50\tp95\n", part.title, part.bare)
		for _, name := range slices.Sorted(maps.Keys(r.Times)) {
			if strings.HasPrefix(name, "first page") != part.first {
				continue
			}
			ours, theirs := r.Times[name].Portal, r.Times[name].Bare
			fmt.Fprintf(w, "%s\t%.0fms\t%.0fms\t%.1fms\t%.1fms\t%.2f\t%.2f\n", name, median(ours), percentile(ours, 95), median(theirs), percentile(theirs, 95),
				median(ours)/median(theirs), percentile(ours, 95)/percentile(theirs, 95))
		}
	}
	_ = w.Flush()
}
