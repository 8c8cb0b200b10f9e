//go:build linux

package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// testEvent is an event about an object, or about one of another kind with its name.
func testEvent(about client.Object, kind, reason string, ago time.Duration, note string) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: about.GetNamespace(), GenerateName: about.GetName() + "-"},
		EventTime:           metav1.NewMicroTime(time.Now().Add(-ago)),
		ReportingController: "kqueen.io/test",
		ReportingInstance:   "test",
		Action:              "Test",
		Type:                corev1.EventTypeNormal,
		Reason:              reason,
		Note:                note,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: about.GetNamespace(), Name: about.GetName(),
		},
	}
}

var update = flag.Bool("update", false, "write what the scripts print into them, and the pages of the commands")

// TestMain makes this test binary kqueen when it is called so, which is how scripts run it.
func TestMain(m *testing.M) {
	testscript.Main(withPlane{m}, map[string]func(){
		"kqueen": func() { os.Exit(run(newScriptEnv(), os.Args)) },
		// What kqueen login starts for the user.
		"xdg-open": func() { os.Exit(browse(os.Args[1:])) },
	})
}

// atOnce is how many scripts run at once, unless -parallel says so: most of the time they wait.
const atOnce = "4"

// withPlane runs tests and stops the plane after them.
type withPlane struct{ m *testing.M }

func (w withPlane) Run() int {
	if err := flag.Set("test.parallel", atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := forgetMachine(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return controlplanetest.Run(w.m)
}

// newScriptEnv is what a command in a script has. The default data directory of root does not depend on HOME; in a
// script it is in the script's own folder all the same, because an installation may run in that of the machine.
func newScriptEnv() *connection.Env {
	e := connection.New(os.Stdin, os.Stdout, os.Stderr)
	e.SystemData = filepath.Join(os.Getenv("HOME"), "system")
	return e
}

// forgetMachine takes from the environment what would bring tests to an installation, a session or a cluster of this
// machine's user. Scripts begin with an empty environment anyway. The store of releases stays: it holds programs that
// are built from this source, and takes long to fill.
func forgetMachine() error {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		ours := strings.HasPrefix(name, "KQUEEN_") && name != "KQUEEN_RELEASES"
		if ours || name == "KUBECONFIG" || name == "XDG_CONFIG_HOME" || name == "XDG_DATA_HOME" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	// A path below a device: nothing is there, and nothing can come to be there.
	nowhere := filepath.Join(os.DevNull, "kqueen")
	return errors.Join(os.Setenv(connection.ConfigVariable, nowhere), os.Setenv(connection.DataDirVariable, nowhere))
}

// TestScripts runs each script in an organization of its own, which has the script's name. All share the
// releases v1.35.4, v1.36.9 and v1.36.10, which are ready, v1.37.0, which is not, and the provisioner "hosted".
// No reconciler runs: a script makes things ready itself.
func TestScripts(t *testing.T) {
	config := controlplanetest.Config(t)
	c := controlplanetest.Client(t)
	clearPlane(t, c)
	there := newServers(t)
	makeShared(t, c)
	p := scripts(t, config, c)
	p.Dir = filepath.Join("testdata", "script")
	p.UpdateScripts = *update
	p.Cmds["server"] = there.command
	commands := commandsFrom(t)
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("PATH", commands+string(filepath.ListSeparator)+env.Getenv("PATH"))
		return setUp(there, config, env)
	}
	testscript.Run(t, p)
}

// scripts are the commands that scripts have.
func scripts(t *testing.T, config *rest.Config, c client.Client) testscript.Params {
	return testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       exits,
			"left":        left,
			"complete":    complete,
			"approve":     approve,
			"code":        code,
			"age":         age,
			"accepted":    objectCommand(t.Context(), c, accepted),
			"steps":       objectCommand(t.Context(), c, steps),
			"ready":       objectCommand(t.Context(), c, ready),
			"stalled":     objectCommand(t.Context(), c, stalled),
			"hold":        objectCommand(t.Context(), c, hold),
			"let-go":      objectCommand(t.Context(), c, letGo),
			"event":       objectCommand(t.Context(), c, happened),
			"hosted":      objectCommand(t.Context(), c, hosted),
			"reachable":   objectCommand(t.Context(), c, reachable(t, config)),
			"pool-status": objectCommand(t.Context(), c, poolStatus),
			"machine":     objectCommand(t.Context(), c, machineIn),
			"joined":      objectCommand(t.Context(), c, joined),
			"pod":         objectCommand(t.Context(), c, podOn),
			"end-pods":    objectCommand(t.Context(), c, endPods),
			"budget":      objectCommand(t.Context(), c, budget),
			"resized":     objectCommand(t.Context(), c, resized),
			"removed":     objectCommand(t.Context(), c, removed),
			"full":        objectCommand(t.Context(), c, full),
			"joinable":    objectCommand(t.Context(), c, joinable(config)),
			"token":       objectCommand(t.Context(), c, token),
			"in-cluster":  objectCommand(t.Context(), c, inCluster),

			"plane-kubeconfig": planeAsCluster(config),

			"addons-ready": objectCommand(t.Context(), c, addonsReady),
		},
	}
}

// makeShared makes what all scripts share.
func makeShared(t *testing.T, c client.Client) {
	t.Helper()
	create := func(object client.Object) {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	create(&v1alpha1.Provisioner{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "imported"},
		Spec:       v1alpha1.ProvisionerSpec{Driver: "imported"},
	})
	create(&v1alpha1.Provisioner{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "hosted"},
		Spec:       v1alpha1.ProvisionerSpec{Driver: "hosted"},
	})
	for version, status := range map[string]metav1.ConditionStatus{
		"v1.35.4": metav1.ConditionTrue, "v1.36.9": metav1.ConditionTrue, "v1.36.10": metav1.ConditionTrue, "v1.37.0": metav1.ConditionFalse,
	} {
		release := &v1alpha1.Release{
			ObjectMeta: metav1.ObjectMeta{Name: version},
			Spec:       v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}},
		}
		create(release)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			t.Fatal(err)
		}
		release.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: status, Reason: v1alpha1.ReasonReady, Message: "for tests", LastTransitionTime: metav1.Now(),
		}}
		if err := c.Status().Update(t.Context(), release); err != nil {
			t.Fatal(err)
		}
	}
}

// setUp makes a script's organization, and a data directory by which the owner of the machine calls the API.
func setUp(there *servers, config *rest.Config, env *testscript.Env) error {
	named, ok := env.T().(interface{ Name() string })
	if !ok {
		return errors.New("the test has no name")
	}
	organization := filepath.Base(named.Name())
	if err := there.organization(organization); err != nil {
		return err
	}
	data, home := filepath.Join(env.WorkDir, "data"), filepath.Join(env.WorkDir, "home")
	for _, dir := range []string{data, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	env.Setenv(connection.DataDirVariable, data)
	env.Setenv(connection.OrganizationVariable, organization)
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	if err := there.local(data, there.owners, env.Defer); err != nil {
		return err
	}
	return clientcmd.WriteToFile(planeKubeconfig(config), filepath.Join(data, connection.AdminKubeconfig))
}

// planeKubeconfig reaches the plane as its administrator.
func planeKubeconfig(config *rest.Config) clientcmdapi.Config {
	kubeconfig := *clientcmdapi.NewConfig()
	kubeconfig.Clusters["plane"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	kubeconfig.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	kubeconfig.Contexts["admin"] = &clientcmdapi.Context{Cluster: "plane", AuthInfo: "admin"}
	kubeconfig.CurrentContext = "admin"
	return kubeconfig
}

// clearPlane removes what scripts left.
func clearPlane(t *testing.T, c client.Client) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterList{}, &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}, &v1alpha1.ControlPlaneList{}, &v1alpha1.OrganizationList{},
		&eventsv1.EventList{}, &corev1.SecretList{}, &corev1.PodList{}, &corev1.NodeList{}, &policyv1.PodDisruptionBudgetList{},
		&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{},
	} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if namespace := o.GetNamespace(); namespace != "" && !strings.HasPrefix(namespace, v1alpha1.NamespacePrefix) {
				return nil
			}
			if len(o.GetFinalizers()) > 0 && slices.Contains(o.GetFinalizers(), testFinalizer) {
				o.SetFinalizers(nil)
				if err := client.IgnoreNotFound(c.Update(t.Context(), o)); err != nil {
					return err
				}
			}
			return client.IgnoreNotFound(c.Delete(t.Context(), o, client.GracePeriodSeconds(0)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// condition knows [root], for what only root can do to the host of a script.
func condition(name string) (bool, error) {
	if name != "root" {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	return os.Geteuid() == 0, nil
}

// exits CODE COMMAND ARGUMENT... runs a command that has to end with that exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code is %d, want %d", got, want)
	}
}

// complete WORD... is the shell that completes a command of kqueen: its stdout is what is offered. A shell offers nothing
// when the server does not answer in time, which on a busy machine it may; a user then presses the key again.
func complete(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: complete WORD...")
	}
	for range 5 {
		ts.Check(ts.Exec("kqueen", append([]string{"__complete"}, args...)...))
		if !strings.HasPrefix(ts.ReadFile("stdout"), ":") { // the first line is an offer, not the directive
			return
		}
	}
}

// left PATH leaves a socket at which nothing listens any more.
func left(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: left PATH")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: ts.MkAbs(args[0])})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}

// objectCommand is a script command whose first argument is an object: the name of a cluster, or nodepool/NAME
// or node/NAME. It waits until there is one, because the command that makes it may run in the background.
func objectCommand[T kinds.Conditioned](ctx context.Context, c client.Client, do func(context.Context, client.Client, T, []string) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: COMMAND OBJECT ARGUMENT...")
		}
		n, name := kinds.Cluster, args[0]
		for _, other := range []*kinds.Kind{kinds.NodePool, kinds.Machine} {
			if after, ok := strings.CutPrefix(name, other.Singular+"/"); ok {
				n, name = other, after
			}
		}
		object, ok := n.Object().(T)
		if !ok {
			ts.Fatalf("%s is a %s, which this command is not for", args[0], n.Singular)
		}
		key := client.ObjectKey{Namespace: v1alpha1.NamespacePrefix + ts.Getenv(connection.OrganizationVariable), Name: name}
		ts.Check(wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, key, object)
			return err == nil, client.IgnoreNotFound(err)
		}))
		ts.Check(do(ctx, c, object, args[1:]))
	}
}

// setCondition sets a condition in memory.
func setCondition(object kinds.Conditioned, name string, status metav1.ConditionStatus, reason, message string) {
	shared := object.Shared()
	kept := shared.Conditions[:0]
	for _, c := range shared.Conditions {
		if c.Type != name {
			kept = append(kept, c)
		}
	}
	shared.ObservedGeneration = object.GetGeneration()
	kept = append(kept, metav1.Condition{
		Type: name, Status: status, Reason: reason, Message: message,
		ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.Now(),
	})
	shared.Conditions = kept
}

func accepted(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, _ []string) error {
	setCondition(cluster, v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "provisioner and version are there")
	setCondition(cluster, v1alpha1.ConditionProvisioned, metav1.ConditionFalse, v1alpha1.ReasonProvisioning, "waiting for the API server")
	setCondition(cluster, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonProgressing, "waiting for the API server")
	return c.Status().Update(ctx, cluster)
}

// steps CLUSTER NAME[=MESSAGE]... sets the steps; one without a message is done.
func steps(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, args []string) error {
	cluster.Status.Steps = nil
	for _, arg := range args {
		name, message, pending := strings.Cut(arg, "=")
		cluster.Status.Steps = append(cluster.Status.Steps, v1alpha1.Step{Name: name, Done: !pending, Message: message})
	}
	return c.Status().Update(ctx, cluster)
}

// ready makes a cluster ready, and its kubeconfig.
func ready(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, _ []string) error {
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["there"] = &clientcmdapi.Cluster{Server: "https://demo.example:6443", CertificateAuthorityData: []byte("authority")}
	kubeconfig.AuthInfos["boss"] = &clientcmdapi.AuthInfo{Token: "secret"}
	kubeconfig.Contexts["boss@there"] = &clientcmdapi.Context{Cluster: "there", AuthInfo: "boss"}
	kubeconfig.CurrentContext = "boss@there"
	data, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return err
	}
	err = c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()},
		Data:       map[string][]byte{v1alpha1.KubeconfigKey: data},
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for i := range cluster.Status.Steps {
		cluster.Status.Steps[i] = v1alpha1.Step{Name: cluster.Status.Steps[i].Name, Done: true}
	}
	cluster.Status.Version = cmp.Or(cluster.Spec.Version, "v1.33.4") // an adopted one names none
	cluster.Status.Endpoint = "https://demo.example:6443"
	for _, name := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady, v1alpha1.ConditionReady} {
		setCondition(cluster, name, metav1.ConditionTrue, v1alpha1.ReasonReady, "all is well")
	}
	return c.Status().Update(ctx, cluster)
}

// stalled OBJECT MESSAGE makes only a human help.
func stalled(ctx context.Context, c client.Client, object kinds.Conditioned, args []string) error {
	message := strings.Join(args, " ")
	setCondition(object, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonProvisionerFailed, message)
	setCondition(object, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonProvisionerFailed, message)
	return c.Status().Update(ctx, object)
}

const testFinalizer = "kqueen.io/test"

// hold keeps an object from going away when it is deleted.
func hold(ctx context.Context, c client.Client, object kinds.Conditioned, _ []string) error {
	object.SetFinalizers([]string{testFinalizer})
	return c.Update(ctx, object)
}

// letGo OBJECT MESSAGE waits until a held object is being deleted, says what remains, and lets it go.
func letGo(ctx context.Context, c client.Client, object kinds.Conditioned, args []string) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		return object.GetDeletionTimestamp() != nil, err
	})
	if err != nil {
		return err
	}
	setCondition(object, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, strings.Join(args, " "))
	if err := c.Status().Update(ctx, object); err != nil {
		return err
	}
	object.SetFinalizers(nil)
	return c.Update(ctx, object)
}

// happened OBJECT KIND REASON AGE NOTE makes an event that long ago.
func happened(ctx context.Context, c client.Client, cluster kinds.Conditioned, args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: event OBJECT KIND REASON AGE NOTE")
	}
	ago, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	return c.Create(ctx, testEvent(cluster, args[0], args[1], ago, args[3]))
}

// hosted makes the control plane of a cluster.
func hosted(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, _ []string) error {
	plane := &v1alpha1.ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: cluster.Name},
		Spec:       v1alpha1.ControlPlaneSpec{Version: cluster.Spec.Version},
	}
	if err := c.Create(ctx, plane); err != nil {
		return err
	}
	plane.Status.Components = []v1alpha1.ComponentStatus{
		{Name: "kube-apiserver", State: "Ready"},
		{Name: "kube-scheduler", State: "BackOff", Restarts: 3, LastExit: "exit status 1"},
	}
	return c.Status().Update(ctx, plane)
}
