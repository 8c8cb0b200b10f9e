package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// cluster has nodes whose agents run here, each with the permissions of the addon's service account.
type cluster struct {
	*testing.T
	kubernetes.Interface

	agents kubernetes.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	config := controlPlane(t)
	install(t, config)
	agents := rest.CopyConfig(config)
	agents.ContentType = "application/vnd.kubernetes.protobuf"
	agents.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:kqueen-local-volumes"}
	return &cluster{T: t, Interface: kubernetes.NewForConfigOrDie(config), agents: kubernetes.NewForConfigOrDie(agents)}
}

// node creates a Node that is ready, though no kubelet is there.
func (c *cluster) node(name string) {
	c.Helper()
	allocatable := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("50")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: "host-" + name}}}
	node, err := c.CoreV1().Nodes().Create(c.Context(), node, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	node.Status = corev1.NodeStatus{Capacity: allocatable, Allocatable: allocatable, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	if _, err := c.CoreV1().Nodes().UpdateStatus(c.Context(), node, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
	eventually(c.T, "the node can be scheduled to", func(ctx context.Context) error {
		node, err := c.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = nil // "not-ready", which admission adds and a controller that does not run takes away
		_, err = c.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

// agent runs the agent of a node until stop is called.
func (c *cluster) agent(node, dir, capacity string) (stop func()) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	up, ended := make(chan struct{}), make(chan error, 1)
	patch := fmt.Sprintf(`{"metadata":{"labels":{"capacity":%q}}}`, capacity)
	if _, err := c.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
	go func() {
		ended <- Run(ctx, node, c.agents, Options{Dir: dir, CapacityLabel: "capacity", Grace: time.Hour}, func() { close(up) })
	}()
	select {
	case <-up:
	case err := <-ended:
		c.Fatalf("the agent ended: %v", err)
	case <-time.After(time.Minute):
		c.Fatal("the agent is not up")
	}
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			c.Error(err)
		}
		ended <- nil
	}
	c.Cleanup(stop)
	return stop
}

// claim creates a claim with a pod that uses it.
func (c *cluster) claim(name, size string, change func(*corev1.PersistentVolumeClaim)) {
	c.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
	}}
	if change != nil {
		change(claim)
	}
	if _, err := c.CoreV1().PersistentVolumeClaims("default").Create(c.Context(), claim, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "none"}},
		Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}},
	}}
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		pod.Spec.Containers[0].VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}
	}
	if _, err := c.CoreV1().Pods("default").Create(c.Context(), pod, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// bound waits until a claim is bound and its pod is scheduled, and returns its volume.
func (c *cluster) bound(name string) *corev1.PersistentVolume {
	c.Helper()
	var volume *corev1.PersistentVolume
	eventually(c.T, name+" is bound", func(ctx context.Context) error {
		claim, err := c.CoreV1().PersistentVolumeClaims("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("%s, annotations %v", claim.Status.Phase, claim.Annotations)
		}
		volume, err = c.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		return err
	})
	eventually(c.T, name+" has a node", func(ctx context.Context) error {
		pod, err := c.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName == "" {
			err = fmt.Errorf("conditions %v", pod.Status.Conditions)
		}
		return err
	})
	return volume
}

// release deletes a pod and its claim.
func (c *cluster) release(name string) {
	c.Helper()
	now := int64(0)
	err := errors.Join(
		c.CoreV1().Pods("default").Delete(c.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}),
		c.CoreV1().PersistentVolumeClaims("default").Delete(c.Context(), name, metav1.DeleteOptions{}))
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) gone(volume string) {
	c.Helper()
	eventually(c.T, volume+" is gone", func(ctx context.Context) error {
		found, err := c.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("phase %s, %w", found.Status.Phase, errors.Join(errors.New("is there"), err))
	})
}

// event waits for a warning about a claim that has some words.
func (c *cluster) event(claim, words string) {
	c.Helper()
	eventually(c.T, fmt.Sprintf("%s has an event with %q", claim, words), func(ctx context.Context) error {
		events, err := c.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var all []string
		for _, e := range events.Items {
			if e.InvolvedObject.Name == claim && strings.Contains(e.Message, words) {
				return nil
			}
			all = append(all, e.InvolvedObject.Name+": "+e.Message)
		}
		return fmt.Errorf("there are %s", strings.Join(all, "\n"))
	})
}

// failures is how many warnings there are about a claim.
func (c *cluster) failures(claim string) int {
	c.Helper()
	events, err := c.CoreV1().Events("default").List(c.Context(), metav1.ListOptions{FieldSelector: "reason=ProvisioningFailed,involvedObject.name=" + claim})
	if err != nil {
		c.Fatal(err)
	}
	return len(events.Items)
}

// told waits until the scheduler was told what nodes have left for a class.
func (c *cluster) told(class string, want map[string]string) {
	c.Helper()
	eventually(c.T, fmt.Sprintf("the scheduler knows %v", want), func(ctx context.Context) error {
		list, err := c.StorageV1().CSIStorageCapacities("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		got := map[string]string{}
		for _, is := range list.Items {
			if is.StorageClassName == class {
				got[is.NodeTopology.MatchLabels[corev1.LabelHostname]] = is.Capacity.String()
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("it knows %v", got)
		}
		return nil
	})
}

// TestCluster goes through what becomes of volumes, with upstream's controllers and scheduler.
func TestCluster(t *testing.T) {
	c := newCluster(t)
	one, two := t.TempDir(), t.TempDir()
	c.node("one")
	c.node("two")
	stop := c.agent("one", one, "1Gi")
	c.agent("two", two, "3Gi")
	c.told("local", map[string]string{"host-one": "1Gi", "host-two": "3Gi"})

	t.Log("A claim goes where it fits, and the class is the default one")
	c.claim("large", "2Gi", nil)
	large := c.bound("large")
	if hostOf(large) != "host-two" || filepath.Dir(large.Spec.Local.Path) != two {
		t.Errorf("large is on %s at %s", hostOf(large), large.Spec.Local.Path)
	}
	if info, err := os.Stat(large.Spec.Local.Path); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("its folder: %v, %v", info, err)
	}
	c.told("local", map[string]string{"host-one": "1Gi", "host-two": "1Gi"})
	if n := c.failures("large"); n != 0 {
		t.Errorf("%d nodes were tried before; the scheduler knows what they have left", n)
	}

	t.Log("What cannot be is refused with words")
	c.claim("shared", "1Mi", func(p *corev1.PersistentVolumeClaim) {
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	})
	c.event("shared", "use ReadWriteOnce or ReadWriteOncePod")
	c.claim("device", "1Mi", func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeMode = new(corev1.PersistentVolumeBlock) })
	c.event("device", "use Filesystem")
	c.release("shared")
	c.release("device")

	c.claim("single", "1Mi", func(p *corev1.PersistentVolumeClaim) {
		p.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	})
	single := c.bound("single")
	c.release("single")
	c.gone(single.Name)

	t.Log("The folder goes with the claim")
	write(t, filepath.Join(large.Spec.Local.Path, "data"), []byte("x"))
	c.release("large")
	c.gone(large.Name)
	if _, err := os.Stat(large.Spec.Local.Path); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
	c.told("local", map[string]string{"host-one": "1Gi", "host-two": "3Gi"})

	t.Log("Where the scheduler was told too much, the agent hands the claim back")
	c.claim("first", "1Gi", func(p *corev1.PersistentVolumeClaim) {
		p.Annotations = map[string]string{annSelectedNode: "one"}
	})
	c.bound("first")
	c.claim("second", "1Gi", func(p *corev1.PersistentVolumeClaim) {
		p.Annotations = map[string]string{annSelectedNode: "one"}
	})
	c.event("second", "volumes of node host-one have 0 left of 1Gi")
	if second := c.bound("second"); hostOf(second) != "host-two" {
		t.Errorf("second is on %s", hostOf(second))
	}

	t.Log("A class of a user's own gets told, and is forgotten with it")
	wait, keep := storage.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimRetain
	kept := &storage.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Provisioner: Provisioner, VolumeBindingMode: &wait, ReclaimPolicy: &keep}
	if _, err := c.StorageV1().StorageClasses().Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.told("kept", map[string]string{"host-one": "0", "host-two": "2Gi"})
	if err := c.StorageV1().StorageClasses().Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.told("kept", map[string]string{})

	t.Log("Released while its agent is down: deleted once it is up")
	first := c.bound("first")
	stop()
	c.release("first")
	orphan := filepath.Join(one, "01234567-89ab-cdef-0123-456789abcdef")
	if err := os.Mkdir(orphan, 0o755); err != nil {
		t.Fatal(err)
	}
	stop = c.agent("one", one, "1Gi")
	c.gone(first.Name)

	t.Log("A folder that the cluster does not know is put aside")
	eventually(t, "it is put aside", func(context.Context) error {
		if _, err := os.Stat(orphan); err == nil {
			return errors.New("it is there")
		}
		names, err := filepath.Glob(filepath.Join(one, released+filepath.Base(orphan)+"-*"))
		if len(names) != 1 {
			return errors.Join(errors.New("it is lost"), err)
		}
		return nil
	})

	t.Log("Volumes and claims of a node that is gone are looked after by another node's agent")
	c.claim("left", "512Mi", func(p *corev1.PersistentVolumeClaim) { p.Annotations = map[string]string{annSelectedNode: "one"} })
	left := c.bound("left")
	stop()
	if err := c.CoreV1().Nodes().Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.told("local", map[string]string{"host-two": "2Gi"}) // by the garbage collector
	c.release("left")
	c.claim("waiting", "1Gi", func(p *corev1.PersistentVolumeClaim) { p.Annotations = map[string]string{annSelectedNode: "one"} })
	eventually(t, "left is released, and waiting has its provisioner", func(ctx context.Context) error {
		volume, err := c.CoreV1().PersistentVolumes().Get(ctx, left.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		claim, err := c.CoreV1().PersistentVolumeClaims("default").Get(ctx, "waiting", metav1.GetOptions{})
		if err == nil && (volume.Status.Phase != corev1.VolumeReleased || claim.Annotations[annProvisioner] == "") {
			err = fmt.Errorf("%s, %v", volume.Status.Phase, claim.Annotations)
		}
		return err
	})
	c.node("three")
	c.agent("three", t.TempDir(), "1Gi") // its first look
	c.gone(left.Name)
	if waiting := c.bound("waiting"); hostOf(waiting) == "host-one" {
		t.Error("waiting is on the node that is gone")
	}
}
