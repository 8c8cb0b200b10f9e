package auditlog

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// ClusterLog opens the folder with the log that the API server of a control plane writes, by the control plane's UID. The
// error is fs.ErrNotExist where there is none.
type ClusterLog func(ctx context.Context, controlPlane types.UID) (*os.Root, error)

const (
	// maxEvent is how long a line may be, in bytes; a longer one is left out, and counted. Upstream's own are shorter.
	maxEvent = 4 << 20
	// maxFile bounds what one file of the log is unpacked to.
	maxFile = 256 << 20
)

func (h *auditLog) registerClusters(api huma.API) {
	o := chain.Operation(http.MethodGet, "/organizations/{organization}/clusters/{cluster}/audit", "exportClusterAudit",
		"Read the audit log of a hosted cluster's own API server, one event per line, the oldest first", "Audit", chain.Recorded("export-cluster-audit"))
	o.Responses = map[string]*huma.Response{"200": {
		Description: "Lines of JSON: one event of audit.k8s.io/v1 per line, and at the end a seal with their number. A log without a seal is incomplete.",
		Content:     map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
	huma.Register(api, o, h.exportClusterAudit)
}

type clusterAuditInput struct {
	chain.InOrganization
	Cluster string    `path:"cluster" maxLength:"253"`
	Since   time.Time `query:"since" doc:"Only from this time on."`
}

// exportClusterAudit is for callers who may be administrators of the cluster: the log can hold what they alone may see there.
func (h *auditLog) exportClusterAudit(ctx context.Context, in *clusterAuditInput) (*huma.StreamResponse, error) {
	o, err := h.rights.Organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	r.Object.Kind, r.Object.Name = "Cluster", in.Cluster
	err = h.rights.Require(ctx, rights.Act{
		Verb: role.VerbAccess, Resource: "clusters", Subresource: v1alpha1.AccessClusterAdmin, Namespace: o.OwnedNamespace(), Name: in.Cluster,
	})
	if err != nil {
		return nil, err
	}
	plane := &v1alpha1.ControlPlane{}
	if !rights.Speakable(in.Cluster) {
		return nil, problem.NotFound()
	}
	if err := h.own.Get(ctx, client.ObjectKey{Namespace: o.OwnedNamespace(), Name: in.Cluster}, plane); err != nil {
		return nil, explainMissing(err)
	}
	folder, err := h.clusters(ctx, plane.UID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noLog()
	}
	if err != nil {
		return nil, problem.Explain(fmt.Errorf("open the audit log of cluster %s: %w", in.Cluster, err))
	}
	write := func(ctx context.Context, out *bufio.Writer) error { return writeEvents(ctx, folder, in.Since, out) }
	return h.send(ctx, write, func() { _ = folder.Close() })
}

func explainMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return problem.NotFound()
	}
	return problem.Explain(err)
}

func noLog() error {
	return problem.New(http.StatusNotFound, rest.CodeNotFound, "there is no audit log of this cluster: its control plane is not hosted here, has written none yet, or spec.auditLog is none")
}

// writeEvents writes the events from a time on, and the seal.
func writeEvents(ctx context.Context, folder *os.Root, since time.Time, out *bufio.Writer) error {
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return fmt.Errorf("list the files of the log: %w", err)
	}
	s := sieve{since: since, out: out}
	for _, name := range inOrder(entries) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.file(folder, name); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	_, err = fmt.Fprintf(out, "{\"seal\":{\"events\":%d,\"leftOut\":%d}}\n", s.events, s.leftOut)
	return err
}

// inOrder are the names of regular files, the oldest first: rotated ones have the time in their names, and "-" comes before "." of the one
// that is written now. It is pure.
func inOrder(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && (strings.HasSuffix(e.Name(), ".log") || strings.HasSuffix(e.Name(), ".log.gz")) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// sieve passes on the events of a time.
type sieve struct {
	since           time.Time
	out             *bufio.Writer
	events, leftOut int
}

func (s *sieve) file(folder *os.Root, name string) error {
	file, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // compressed or removed since
	}
	if err != nil {
		return err
	}
	defer file.Close()
	// What writes there is a tenant's: what was a file when it was listed could be a pipe now, which no program fills.
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		s.leftOut++
		return err
	}
	var from io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		unpacked, err := gzip.NewReader(file)
		if err != nil {
			s.leftOut++ // it is being written
			return nil
		}
		from = unpacked
	}
	lines := bufio.NewScanner(io.LimitReader(from, maxFile))
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if err := s.line(lines.Bytes()); err != nil {
			return err
		}
	}
	if lines.Err() != nil { // the rest of this file cannot be told apart
		s.leftOut++
	}
	return nil
}

func (s *sieve) line(line []byte) error {
	at, whole := timeOf(line)
	if !whole {
		s.leftOut++ // torn, or being written
		return nil
	}
	if at.Before(s.since) {
		return nil
	}
	s.events++
	if _, err := s.out.Write(line); err != nil {
		return err
	}
	return s.out.WriteByte('\n')
}

// timeOf is when an event was written down; false for a line that is none.
func timeOf(line []byte) (time.Time, bool) {
	var event struct {
		Kind           string    `json:"kind"`
		StageTimestamp time.Time `json:"stageTimestamp"`
	}
	err := json.Unmarshal(line, &event)
	return event.StageTimestamp, err == nil && event.Kind == "Event"
}
