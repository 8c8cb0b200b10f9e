package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"
	"k8s.io/klog/v2"
)

// change is what becomes of a folder: it is renamed, or removed where to is empty.
type change struct{ from, to string }

// plan returns what becomes of the folders of a directory. known are the claims whose folder the cluster counts on. A cluster that
// was restored from a backup knows less than there is, therefore what it does not know is put aside first, and put back when it is
// known again.
func plan(names []string, known map[string]bool, now time.Time, grace time.Duration) []change {
	var changes []change
	back := map[string]string{} // the last folder that was put aside, by claim
	for _, name := range names {
		claim, since, wasReleased := parseReleased(name)
		switch {
		case strings.HasPrefix(name, deleting):
			changes = append(changes, change{from: name})
		case wasReleased && known[claim] && !slices.Contains(names, claim):
			back[claim] = max(back[claim], name)
		case wasReleased && grace > 0 && now.Sub(since) > grace:
			changes = append(changes, change{from: name})
		case !wasReleased && isClaim(name) && !known[name]:
			changes = append(changes, change{from: name, to: nameReleased(name, now)})
		}
	}
	for claim, name := range back {
		changes = append(changes, change{from: name, to: claim})
	}
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.from, b.from) })
	return changes
}

// isClaim says whether a name has the form of the UIDs that API servers give: a folder of the operator has not.
func isClaim(name string) bool {
	_, err := folderName(types.UID(name))
	parts := strings.Split(name, "-")
	return err == nil && len(name) == 36 && len(parts) == 5 && len(parts[0]) == 8 && len(parts[4]) == 12
}

// sweepFolders compares the directory with the cluster. The API server itself is asked, not the cache, and only when there is
// something to ask about; without its full answer nothing is touched.
func (a *agent) sweepFolders(ctx context.Context, now time.Time) error {
	names, err := a.folders.names()
	if err != nil {
		return fmt.Errorf("read the directory for volumes: %w", err)
	}
	cached := map[string]bool{}
	for _, obj := range a.watched.volumes.GetStore().List() {
		if volume := obj.(*corev1.PersistentVolume); isOurs(volume) && hostOf(volume) == a.node.host {
			cached[string(claimOfName(volume.Name))] = true
		}
	}
	if len(plan(names, cached, now, a.grace)) == 0 {
		return nil
	}
	known, err := a.known(ctx)
	if err != nil {
		return fmt.Errorf("ask for the claims and volumes of the cluster: %w", err)
	}
	for _, c := range plan(names, known, now, a.grace) {
		if c.to == "" {
			err = errors.Join(err, a.folders.erase(c.from))
			continue
		}
		klog.FromContext(ctx).Info("Moved the folder of a volume, because the cluster has or lacks its claim", "from", c.from, "to", c.to)
		err = errors.Join(err, a.folders.rename(c))
	}
	return err
}

// rename does a change unless the folder of the claim came in between.
func (f *folders) rename(c change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.root.Lstat(c.to); err == nil {
		return nil
	}
	return f.move(c.from, c.to)
}

// known returns the claims whose folder here the cluster counts on: those with a volume here, those that wait for one, and those whose
// folder any volume names, because users keep data by a volume of their own.
func (a *agent) known(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	// Claims first: one that is bound after it was read is known by its volume.
	err := each(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return a.client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List(ctx, o)
	}, func(claim *corev1.PersistentVolumeClaim) {
		if claim.Spec.VolumeName == "" {
			known[string(claim.UID)] = true
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return a.client.CoreV1().PersistentVolumes().List(ctx, o)
	}, func(volume *corev1.PersistentVolume) {
		for _, name := range foldersOf(volume, a.folders.dir, a.node.host) {
			known[name] = true
		}
	})
	return known, err
}

// foldersOf returns the folders below dir, on a host, that a volume counts on.
func foldersOf(volume *corev1.PersistentVolume, dir, host string) []string {
	var named []string
	if isOurs(volume) && hostOf(volume) == host {
		named = append(named, string(claimOfName(volume.Name)))
	}
	path := ""
	switch {
	case volume.Spec.Local != nil:
		path = volume.Spec.Local.Path
	case volume.Spec.HostPath != nil:
		path = volume.Spec.HostPath.Path
	}
	if at := hostOf(volume); at != "" && at != host {
		return named
	}
	if below, ok := strings.CutPrefix(path, dir+"/"); ok {
		first, _, _ := strings.Cut(below, "/")
		named = append(named, first)
	}
	return named
}

// each calls do with each object of a list, which is read by pages.
func each[T runtime.Object](ctx context.Context, list pager.ListPageFunc, do func(T)) error {
	pages := pager.New(list)
	pages.PageBufferSize = 0
	return pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
		do(obj.(T))
		return nil
	})
}
