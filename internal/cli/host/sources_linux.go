package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/logfile"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/status"
)

// ownWorkload is the name of KQueen itself, beside those of the workloads of its status.
const ownWorkload = "kqueen"

// logSource is the log of one program.
type logSource struct {
	// Workload is its name in the status, and ID that of its folder; Component is the program.
	Workload, ID, Component string
	// StartedAt is of the process that runs; zero when none does, or when it is not known.
	StartedAt time.Time

	logfile.Log
}

func (s logSource) String() string { return s.Workload + " " + s.Component }

// logSources finds all logs of the installation in dir, whether it runs or not; st is nil when its status is not known.
func logSources(dir string, st *status.Status) ([]logSource, error) {
	own, err := ownLogs(dir)
	if err != nil {
		return nil, err
	}
	top := filepath.Join(dir, status.RunFolder, "workloads")
	entries, err := os.ReadDir(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	var found []logSource
	for _, entry := range entries {
		some, err := workloadLogs(filepath.Join(top, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("list logs of %s: %w", entry.Name(), err)
		}
		for n := range some {
			some[n].Workload = cmp.Or(supervise.SubjectOf(filepath.Join(top, entry.Name())).Name, some[n].ID)
		}
		found = append(found, some...)
	}
	began := startsOf(st)
	for n := range found {
		found[n].StartedAt = began[found[n].ID+" "+found[n].Component]
	}
	slices.SortStableFunc(found, func(a, b logSource) int { return cmp.Compare(a.String(), b.String()) })
	return append(own, found...), nil
}

// startsOf are when programs started, by the ID of the workload and the component. It is pure.
func startsOf(st *status.Status) map[string]time.Time {
	began := map[string]time.Time{}
	if st == nil {
		return began
	}
	for _, w := range st.Workloads {
		for _, c := range w.Components {
			began[w.ID+" "+c.Name] = c.StartedAt
		}
	}
	return began
}

// ownLogs are those of KQueen itself and of its keeper.
func ownLogs(dir string) ([]logSource, error) {
	var own []logSource
	logs := filepath.Dir(daemon.ServerLog(dir))
	for _, component := range []string{ownWorkload, "keeper"} {
		// The library that rotates them names old ones by their time.
		names, err := filepath.Glob(filepath.Join(logs, component+"-*.log"))
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		own = append(own, logSource{
			Workload: ownWorkload, ID: ownWorkload, Component: component,
			Log: logfile.Log{Open: os.Open, Names: append(names, filepath.Join(logs, component+".log"))},
		})
	}
	return own, nil
}

// workloadLogs are those of a workload's folder. What a program has planted there leads nowhere else, and what is no file is none.
func workloadLogs(dir string) ([]logSource, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) { // it has ended just now
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), supervise.LogDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := map[string][]string{} // by component
	for _, entry := range entries {
		component, old, ok := strings.Cut(entry.Name(), ".log")
		if !ok || !entry.Type().IsRegular() || old != "" && !isRotated(old) {
			continue
		}
		files[component] = append(files[component], entry.Name())
	}
	open := func(name string) (*os.File, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return root.Open(path.Join(supervise.LogDir, name))
	}
	var found []logSource
	for component, names := range files {
		// a.log, a.log.1, a.log.2: the last one is the oldest.
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(rotation(b), rotation(a)) })
		if names[len(names)-1] != component+".log" {
			names = append(names, component+".log")
		}
		found = append(found, logSource{ID: filepath.Base(dir), Component: component, Log: logfile.Log{Open: open, Names: names}})
	}
	return found, nil
}

func isRotated(suffix string) bool {
	_, err := strconv.Atoi(strings.TrimPrefix(suffix, "."))
	return err == nil && strings.HasPrefix(suffix, ".")
}

// rotation is how often a log was rotated since this file of it was written.
func rotation(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
	return n
}

// chooseLogs picks those that the user names: a workload, by its name in the status, its last part or its ID, and one of its programs,
// or a program alone where there is one of that name. It is pure.
func chooseLogs(all []logSource, args []string) ([]logSource, error) {
	if len(args) == 0 {
		args = []string{ownWorkload}
	}
	of := slices.DeleteFunc(slices.Clone(all), func(s logSource) bool { return !s.isOf(args[0]) })
	if len(args) == 2 {
		of = slices.DeleteFunc(of, func(s logSource) bool { return s.Component != args[1] })
	} else if same := slices.IndexFunc(of, func(s logSource) bool { return s.Component == args[0] }); same >= 0 {
		of = of[same : same+1]
	}
	if len(of) == 0 && len(args) == 1 {
		of = slices.DeleteFunc(slices.Clone(all), func(s logSource) bool { return s.Component != args[0] })
		if len(of) > 1 {
			return nil, ambiguous(args[0], of, logSource.String)
		}
	}
	if len(of) == 0 {
		return nil, exit.Fail(exit.NotFound, "there is no log of %q; see: kqueen status", strings.Join(args, " "))
	}
	if slices.ContainsFunc(of, func(s logSource) bool { return s.ID != of[0].ID }) {
		return nil, ambiguous(args[0], of, func(s logSource) string { return s.Workload })
	}
	return of, nil
}

func (s logSource) isOf(workload string) bool {
	// The table of the status names a workload after its organization, and its JSON after the organization's namespace.
	return s.Workload == workload || s.Workload == v1alpha1.NamespacePrefix+workload || s.ID == workload || path.Base(s.Workload) == workload
}

func ambiguous(word string, of []logSource, name func(logSource) string) error {
	var names []string
	for _, s := range of {
		names = append(names, name(s))
	}
	return exit.Fail(exit.Usage, "%q can be any of: %s; name one of these", word, strings.Join(slices.Compact(names), ", "))
}
