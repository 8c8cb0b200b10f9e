package clusterapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
)

// call is a request to a cluster.
type call struct {
	organization, cluster string
	// path is that at the cluster's API server, and escaped the same as it goes over the wire.
	path, escaped string
	// long says that it goes on for as long as the caller wants: a watch, a log that is followed, a session in a container.
	long bool
	// change is what the audit log has of it; empty for what only reads.
	change string
}

// roots are the first parts of the paths that API servers have for their clients. Others, such as those that only tell how the server
// is doing, do not pass.
func roots() []string {
	return []string{"api", "apis", "openapi", "version", "healthz", "livez", "readyz"}
}

// read reads a request. It is pure; false for what does not pass.
func read(r *http.Request) (call, bool) {
	below, ok := strings.CutPrefix(r.URL.EscapedPath(), rest.ClustersPath+"/")
	if !ok {
		return call{}, false
	}
	parts := strings.SplitN(below, "/", 3)
	if len(parts) != 3 {
		return call{}, false
	}
	for _, name := range parts[:2] {
		if len(content.IsPathSegmentName(name)) > 0 || strings.Contains(name, "%") {
			return call{}, false
		}
	}
	c := call{organization: parts[0], cluster: parts[1], escaped: "/" + parts[2]}
	if c.path, ok = plainPath(parts[2]); !ok {
		return call{}, false
	}
	upgrade := r.Header.Get("Upgrade") != ""
	c.long = upgrade || watches(r.URL.Query()) || r.URL.Query().Get("follow") == "true"
	switch {
	case upgrade:
		c.change = "connect"
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions:
		c.change = strings.ToLower(r.Method)
	}
	return c, true
}

// plainPath is a path at the API server as it is read; false for one that is none of the API's, or leads elsewhere when it is read again.
func plainPath(escaped string) (string, bool) {
	var plainSegments []string
	segments := strings.Split(strings.TrimSuffix(escaped, "/"), "/")
	for _, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "." || plain == ".." || plain == "" || strings.Contains(plain, "/") {
			return "", false
		}
		plainSegments = append(plainSegments, plain)
	}
	path := "/" + strings.Join(plainSegments, "/")
	if strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path, slices.Contains(roots(), segments[0])
}

// watches says what an API server takes for a watch: every value but these two, the empty one, too.
func watches(query url.Values) bool {
	values, ok := query["watch"]
	return ok && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// about is what the audit log has of a request: what changes something in the cluster, and sessions in containers.
func about(r *http.Request) chain.About {
	c, ok := read(r)
	if !ok || c.change == "" {
		return chain.About{}
	}
	return chain.About{
		Entry:  chain.Entry{Action: "cluster-" + c.change, Operation: "cluster:" + c.change, Path: chain.ObjectPath},
		Object: chain.Object{Kind: "Cluster", Organization: c.organization, Name: c.cluster},
	}
}
