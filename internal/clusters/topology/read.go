package topology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// atOnce is how many kinds are listed at once: the API server of a cluster has others to serve, and each page takes memory here.
const atOnce = 2

// Read lists what belongs to what, in some namespaces or in all, and builds the graph. The context bounds it as a whole. What cannot be read
// beside the pods is named in NotRead; without an answer to the list of pods there is an error.
func Read(ctx context.Context, c *listing.Client, namespaces []string, caps Caps) (Graph, error) {
	r := &reading{client: c, left: caps.withDefaults().Kept, listed: Listed{Whole: map[string]bool{}, Namespaces: namespaces}}
	if err := r.read(ctx, pods()); err != nil {
		return Graph{}, fmt.Errorf("list pods: %w", err)
	}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, k := range others() {
		group.Go(func() error {
			if err := r.read(ctx, k); err != nil {
				r.skip(k, err)
			}
			return nil
		})
	}
	_ = group.Wait() // none has an error
	slices.SortFunc(r.listed.NotRead, listing.CompareNotRead)
	return Build(r.listed, caps), nil
}

// reading is one reading of a cluster. It is safe for concurrent use.
type reading struct {
	client *listing.Client

	mu     sync.Mutex
	left   int64 // bytes that may still be kept
	listed Listed
}

// read lists a kind. A kind that the cluster does not have is none, and one that may not be read, or of which there is too much, is named.
func (r *reading) read(ctx context.Context, k kind) error {
	for _, path := range k.paths(r.listed.Namespaces) {
		_, err := r.client.List(ctx, listing.Resource{Path: path, Accept: k.accept()}, listing.AnyTurn, func(raw []byte) error {
			o, err := k.decode(raw)
			if err != nil {
				return err
			}
			o.Group, o.Kind = k.group, k.kind
			return r.keep(o)
		})
		switch {
		case errors.Is(err, listing.ErrAbsent):
			return nil
		case errors.Is(err, listing.ErrForbidden) || errors.Is(err, listing.ErrTooMany):
			r.skip(k, err)
			return nil
		case err != nil:
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed.Whole[Ref{Group: k.group, Kind: k.kind}.groupKind()] = true
	return nil
}

// keep adds an object, unless there is too much already.
func (r *reading) keep(o Object) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left -= o.size(); r.left < 0 {
		return listing.ErrTooMany
	}
	r.listed.Objects = append(r.listed.Objects, o)
	return nil
}

func (r *reading) skip(k kind, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed.NotRead = append(r.listed.NotRead, listing.NotRead{Resource: k.resource, Reason: listing.Reason(err)})
}
