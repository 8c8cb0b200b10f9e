//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/test/pages"
)

const scriptOfFirstHour = "first-hour"

// hour is one run of the script of a user's first hour, from the README to the first fault.
type hour struct {
	*installation

	// helm is the folder with Helm.
	helm string
	// mend ends the fault that was planted last, and planted is when that was.
	mend    func()
	planted time.Time
}

// firstHour runs the script on an installation with nodes that has no user yet. It leaves the administrator root, the organization
// payments with the operator alice, and her cluster demo, with a pool of its name that has two nodes.
func (i *installation) firstHour(t *testing.T) {
	t.Helper()
	h, image := &hour{installation: i, helm: helm(t)}, testImage(t)
	params := testscript.Params{
		Files:               []string{filepath.Join("testdata", scriptOfFirstHour+".txtar")},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"page": commandsOf, "take": take, "breaks": h.breaks, "mends": h.mends, "within": h.within},
		Setup:               func(env *testscript.Env) error { return h.setUp(env, image) },
	}
	params.Deadline, _ = t.Deadline()
	if testscript.RunT(inTurn{t}, params); t.Failed() {
		t.Fatal("what comes after it goes on from it")
	}
}

// helm returns the folder with Helm, which is built where it is not yet.
func helm(t *testing.T) string {
	t.Helper()
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("bin", "tools", "helm")
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, path).CombinedOutput(); err != nil {
		t.Fatalf("build Helm: %v\n%s", err, out)
	}
	return filepath.Dir(filepath.Join(root, path))
}

// inTurn runs scripts one after the other, while the test waits.
type inTurn struct{ *testing.T }

// Parallel implements testscript.T.
func (inTurn) Parallel() {}

// Run implements testscript.T.
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// Verbose implements testscript.T.
func (inTurn) Verbose() bool { return testing.Verbose() }

// setUp gives the script the programs, and two users of the operating system: the owner of the installation, and alice, who is
// elsewhere.
func (h *hour) setUp(env *testscript.Env, image string) error {
	upstream := filepath.Join(h.releases, programs.version)
	for name, value := range map[string]string{
		"PATH": filepath.Dir(h.program) + ":" + upstream + ":" + h.helm + ":" + env.Getenv("PATH"), "KQUEEN_RELEASES": h.releases,
		"DATA": h.dir, "KQUEEN_DATA_DIR": h.dir, "HOME": filepath.Join(env.WorkDir, "owner"),
		"PASSWORD": apiPassword, "VERSION": programs.version, "IMAGE": image,
	} {
		env.Setenv(name, value)
	}
	if dir := os.Getenv("GOCOVERDIR"); dir != "" { // of "make cover"
		env.Setenv("GOCOVERDIR", dir)
	}
	return errors.Join(os.Mkdir(filepath.Join(env.WorkDir, "owner"), 0o700), os.Mkdir(filepath.Join(env.WorkDir, "alice"), 0o700))
}

// commandsOf is "page PAGE": it writes the commands of a page of the documentation that are the script's into the file commands.sh.
func commandsOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: page PAGE")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(args[0])))
	ts.Check(err)
	blocks, err := pages.Blocks(args[0], string(text))
	ts.Check(err)
	script := pages.Script(blocks, scriptOfFirstHour)
	if script == "" {
		ts.Fatalf("%s has no block that is marked as run by %s", args[0], scriptOfFirstHour)
	}
	ts.Check(os.WriteFile(ts.MkAbs("commands.sh"), []byte(script), 0o600))
}

// take NAME stdout|stderr REGEXP keeps what the last command printed where the group of the expression is, in a variable.
func take(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: take NAME stdout|stderr REGEXP")
	}
	wanted, err := regexp.Compile("(?m)" + args[2])
	ts.Check(err)
	found := wanted.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) != 2 {
		ts.Fatalf("%s has nothing that is like %q", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// breaks ORGANIZATION CLUSTER COMPONENT plants a fault: a program of a control plane is killed whenever it runs.
func (h *hour) breaks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || h.mend != nil {
		ts.Fatalf("usage, for one fault at a time: breaks ORGANIZATION CLUSTER COMPONENT")
	}
	plane := &v1alpha1.ControlPlane{}
	ts.Check(h.admin().Get(h.t.Context(), types.NamespacedName{Namespace: v1alpha1.NamespacePrefix + args[0], Name: args[1]}, plane))
	h.planted = time.Now()
	h.mend = h.killing(h.t.Context(), func(p process) bool { return p.workload == string(plane.UID) && p.component == args[2] })
	ts.Defer(func() { h.mends(ts, false, nil) })
}

// mends ends the fault.
func (h *hour) mends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: mends")
	}
	if h.mend != nil {
		h.mend()
	}
	h.mend = nil
}

// within DURATION fails when the fault was planted longer ago: so soon a user has to be able to know of it.
func (h *hour) within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: within DURATION")
	}
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	took := time.Since(h.planted)
	ts.Logf("the cause was found %s after the fault was planted", took.Round(time.Millisecond))
	if took > most {
		ts.Fatalf("that is more than %s", most)
	}
}
