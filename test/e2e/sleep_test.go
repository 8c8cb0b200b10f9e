//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestSleep puts a cluster with a node to sleep and has it woken: by a client at its own port while KQueen does not run, by one that comes by
// name, and by a CronJob. No process of it runs meanwhile, its pods come back, and what KQueen does by itself does not wake it.
func TestSleep(t *testing.T) {
	needRoot(t)
	parallel(t, 4*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "demo", "--version", programs.version, "--nodes", "1", "--wait", "--timeout", patience.String())
	through := i.tenant("default", "demo")
	direct := i.direct(through, "demo")
	s := &sleeper{installation: i, tenant: clientset(t, through)}
	s.marks("before")
	s.pod()

	i.ok("cluster", "sleep", "demo")
	s.asleep()
	// What looks at clusters all the time has its time to wake it.
	i.ok("inventory", "images", "--cluster", "demo")
	i.ok("cluster", "describe", "demo")
	if r := i.kqueen("cluster", "events", "demo"); strings.Contains(r.stderr, "panic") {
		t.Error(r.stderr)
	}
	<-time.After(5 * time.Second)
	s.asleep()

	i.halt()
	answered := s.asks(direct, marked)
	select {
	case err := <-answered:
		t.Fatalf("a cluster that sleeps has answered while KQueen did not run: %v", err)
	case <-time.After(3 * time.Second):
	}
	i.up()
	if err := <-answered; err != nil {
		t.Fatalf("a client at the cluster's own port: %v", err)
	}
	s.awake("before")

	i.ok("cluster", "sleep", "demo", "--when-idle", "1m")
	due := time.Now().Add(2*time.Minute + 15*time.Second).Truncate(time.Minute) // it is woken a minute before
	s.cronJob(due)
	i.ok("cluster", "sleep", "demo")
	s.asleep()
	eventually(t, "a CronJob wakes it", func(ctx context.Context) error { return s.sleepsNot(ctx) })
	if now := time.Now(); now.After(due) {
		t.Errorf("it was woken at %s for what was due at %s", now, due)
	}
	eventually(t, "the CronJob runs at its time", func(ctx context.Context) error { return s.ranAt(ctx, due) })

	s.marks("second")
	i.ok("cluster", "sleep", "demo")
	s.asleep()
	if err := <-s.asks(through, marked); err != nil {
		t.Fatalf("a client that comes by name: %v", err)
	}
	s.awake("second")
	i.ok("cluster", "wake", "demo", "--keep-awake", "--wait", "--timeout", patience.String())
	i.ok("cluster", "sleep", "demo")
	s.asleep()
	i.ok("cluster", "delete", "demo", "--yes", "--timeout", patience.String())
}

// sleeper is a cluster that sleeps now and then.
type sleeper struct {
	*installation
	tenant *kubernetes.Clientset
}

// marks writes an object by which the state is known again.
func (s *sleeper) marks(name string) {
	s.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.tenant.CoreV1().ConfigMaps("default").Create(s.t.Context(), m, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// pod has a pod run that is told by its name.
func (s *sleeper) pod() {
	s.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sleeps"}, Spec: corev1.PodSpec{Containers: []corev1.Container{sleeps(s.t)}}}
	if _, err := s.tenant.CoreV1().Pods("default").Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "the pod runs", func(ctx context.Context) error { return s.runs(ctx, 0) })
}

// runs says whether the pod runs, and was started again so many times at least.
func (s *sleeper) runs(ctx context.Context, restarts int32) error {
	p, err := s.tenant.CoreV1().Pods("default").Get(ctx, "sleeps", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Running == nil || p.Status.ContainerStatuses[0].RestartCount < restarts {
		return fmt.Errorf("it is %s: %+v", p.Status.Phase, p.Status.ContainerStatuses)
	}
	return nil
}

// asleep waits until the cluster sleeps and nothing of it runs.
func (s *sleeper) asleep() {
	s.t.Helper()
	eventually(s.t, "the cluster sleeps", func(ctx context.Context) error {
		if s.sleepsNot(ctx) == nil {
			return errors.New("it is awake")
		}
		if left := s.running(s.ofTenants()); len(left) > 0 {
			return fmt.Errorf("it is asleep, and there run %s", strings.Join(left, "; "))
		}
		return nil
	})
}

// sleepsNot says whether the cluster is awake, and does not wake it.
func (s *sleeper) sleepsNot(ctx context.Context) error {
	cluster := &v1alpha1.Cluster{}
	if err := s.admin().Get(ctx, client.ObjectKey{Namespace: "org-default", Name: "demo"}, cluster); err != nil {
		return err
	}
	if cluster.Status.Sleeps() {
		return errors.New(cluster.Status.Hibernation.Message)
	}
	return nil
}

// ofTenants tells the processes of control planes and machines.
func (s *sleeper) ofTenants() func(process) bool {
	s.t.Helper()
	planes, machines := &v1alpha1.ControlPlaneList{}, &v1alpha1.MachineList{}
	if err := errors.Join(s.admin().List(s.t.Context(), planes), s.admin().List(s.t.Context(), machines)); err != nil {
		s.t.Fatal(err)
	}
	of := map[string]bool{}
	for i := range planes.Items {
		of[string(planes.Items[i].UID)] = true
	}
	for i := range machines.Items {
		of[string(machines.Items[i].UID)] = true
	}
	return func(p process) bool { return of[p.workload] }
}

// marked is the object that marks the first state.
const marked = "/api/v1/namespaces/default/configmaps/before"

// asks asks for an object, on a connection of its own. The client library would give up after ten seconds.
func (s *sleeper) asks(config *rest.Config, path string) <-chan error {
	s.t.Helper()
	keys, err := rest.TLSConfigFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	c, answered := &http.Client{Transport: &http.Transport{TLSClientConfig: keys}}, make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, config.Host+path, http.NoBody)
		if err != nil {
			answered <- err
			return
		}
		answer, err := c.Do(request)
		if err == nil {
			err = answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				err = errors.New(answer.Status)
			}
		}
		answered <- err
	}()
	return answered
}

// awake waits until the cluster, its node and its pod are as they were.
func (s *sleeper) awake(mark string) {
	s.t.Helper()
	eventually(s.t, "the cluster is awake", func(ctx context.Context) error {
		if _, err := s.tenant.CoreV1().ConfigMaps("default").Get(ctx, mark, metav1.GetOptions{}); err != nil {
			return err
		}
		return s.runs(ctx, 1)
	})
	s.ok("cluster", "wait", "demo", "--timeout", patience.String())
	s.ok("nodepool", "wait", "demo", "--timeout", patience.String())
}

// cronJob makes one that is due once, at a time.
func (s *sleeper) cronJob(due time.Time) {
	s.t.Helper()
	due = due.UTC()
	container := sleeps(s.t)
	container.Command = []string{"true"}
	job := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "due"}, Spec: batchv1.CronJobSpec{
		Schedule: fmt.Sprintf("%d %d %d %d *", due.Minute(), due.Hour(), due.Day(), due.Month()), TimeZone: ptr.To("UTC"),
		JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}},
		}}},
	}}
	if _, err := s.tenant.BatchV1().CronJobs("default").Create(s.t.Context(), job, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// ranAt says whether the CronJob ran at the time at which it was due, without waking the cluster by asking.
func (s *sleeper) ranAt(ctx context.Context, due time.Time) error {
	if time.Now().Before(due) {
		return errors.New("it is not due yet")
	}
	job, err := s.tenant.BatchV1().CronJobs("default").Get(ctx, "due", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if job.Status.LastScheduleTime == nil || job.Status.LastSuccessfulTime == nil {
		return errors.New("it has not run")
	}
	if at := job.Status.LastScheduleTime.Time; !at.Equal(due) {
		return fmt.Errorf("it ran for %s, want %s", at, due)
	}
	return nil
}

// sleeps is a container that does nothing.
func sleeps(t *testing.T) corev1.Container {
	t.Helper()
	return corev1.Container{Name: "sleeps", Image: testImage(t), ImagePullPolicy: corev1.PullNever, Command: []string{"sleep", "3600"}}
}
