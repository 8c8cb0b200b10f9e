package controlplane

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// TestDescribeIsEnoughForPods makes a Deployment of a control plane, from nothing but its description. It is not what a
// runner of pods will be, which decides much more; it shows that the description needs no host.
func TestDescribeIsEnoughForPods(t *testing.T) {
	w, err := Describe(description(t))
	if err != nil {
		t.Fatal(err)
	}
	p := pods{w, map[string]int32{}}
	for i, port := range w.Ports {
		p.number[port.Name] = 6443 + int32(i)
	}
	d, err := p.deployment()
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "pods", "cluster.golden"), string(text))
	conf, err := p.content(fileScheduler)
	if err != nil || !strings.Contains(conf, "server: https://127.0.0.1:6443\n") {
		t.Errorf("the scheduler does not find the API server of its pod: %v\n%s", err, conf)
	}
	for _, host := range []string{"/var/", "$("} {
		if strings.Contains(string(text), host) {
			t.Errorf("the Deployment has %q", host)
		}
	}
}

// Folders in each container.
const (
	filesDir = "/etc/kqueen"
	workDir  = "/run/kqueen"
)

// pods is a workload as one pod, in which each port has a number of its own.
type pods struct {
	runner.Workload
	number map[string]int32
}

func (p pods) resolve(r runner.Reference) (string, error) {
	number := strconv.Itoa(int(p.number[r.Name]))
	switch r.Kind {
	case runner.KindFile:
		return path.Join(filesDir, r.Name), nil
	case runner.KindBind:
		return "0.0.0.0", nil // the kubelet's probes come to the pod's address
	case runner.KindPort:
		return number, nil
	case runner.KindLocal:
		return net.JoinHostPort("127.0.0.1", number), nil
	}
	return "", fmt.Errorf("%s is unknown", r)
}

// content is that of a file in the pod's Secret or ConfigMap.
func (p pods) content(name string) (string, error) {
	f := p.Files[name]
	if !f.Template {
		return string(f.Data), nil
	}
	return runner.Expand(string(f.Data), p.resolve)
}

func (p pods) deployment() (*appsv1.Deployment, error) {
	labels := map[string]string{"kqueen.io/controlplane": p.ID}
	spec := corev1.PodSpec{
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
		Volumes: []corev1.Volume{
			{Name: "files", VolumeSource: corev1.VolumeSource{Projected: p.projected()}},
			{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		},
	}
	strategy := appsv1.RollingUpdateDeploymentStrategyType
	restartOn := map[string]bool{}
	awaited := map[string]bool{}
	for _, c := range p.Components {
		for _, a := range c.After {
			awaited[a] = true
		}
	}
	for _, c := range p.Components {
		container, err := p.container(c)
		if err != nil {
			return nil, err
		}
		// What others wait for is a sidecar: these start in order, each when the one before has passed its startup probe.
		if awaited[c.Name] {
			container.RestartPolicy, container.StartupProbe = ptr.To(corev1.ContainerRestartPolicyAlways), container.ReadinessProbe
			spec.InitContainers = append(spec.InitContainers, container)
		} else {
			spec.Containers = append(spec.Containers, container)
		}
		if c.Alone {
			strategy = appsv1.RecreateDeploymentStrategyType
		}
		for _, f := range c.RestartOn {
			restartOn[f] = true
		}
		grace := int64(cmp.Or(c.StopGrace, 10*time.Second).Seconds())
		spec.TerminationGracePeriodSeconds = ptr.To(max(*spec.TerminationGracePeriodSeconds, grace))
	}
	hashed := strings.Join(slices.Sorted(maps.Keys(restartOn)), " ")
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: p.ID, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: strategy},
			Template: corev1.PodTemplateSpec{
				// The keys are new in every run, so that their names stand here for the hash of their content.
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"kqueen.io/hash-of": hashed}},
				Spec:       spec,
			},
		},
	}, nil
}

// projected shows the files of a Secret and of a ConfigMap in one folder.
func (p pods) projected() *corev1.ProjectedVolumeSource {
	secret := &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: p.ID}}
	plain := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: p.ID}}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		item := corev1.KeyToPath{Key: name, Path: name}
		if p.Files[name].Secret {
			secret.Items = append(secret.Items, item)
		} else {
			plain.Items = append(plain.Items, item)
		}
	}
	return &corev1.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o440), Sources: []corev1.VolumeProjection{{Secret: secret}, {ConfigMap: plain}},
	}
}

func (p pods) container(c runner.Component) (corev1.Container, error) {
	out := corev1.Container{
		Name: c.Name, Image: "registry.example/" + c.Program.Name + ":" + c.Program.Version, Command: []string{c.Program.Name},
		WorkingDir: workDir,
		VolumeMounts: []corev1.VolumeMount{
			{Name: "files", MountPath: filesDir, ReadOnly: true}, {Name: "work", MountPath: workDir},
		},
		Resources: corev1.ResourceRequirements{Requests: amounts(c.Resources.Requests), Limits: amounts(c.Resources.Limits)},
	}
	for _, a := range c.Args {
		arg, err := runner.Expand(a, p.resolve)
		if err != nil {
			return out, err
		}
		out.Args = append(out.Args, arg)
	}
	for _, name := range c.Ports {
		out.Ports = append(out.Ports, corev1.ContainerPort{ContainerPort: p.number[name], Protocol: corev1.ProtocolTCP})
	}
	if c.Probe != nil {
		get := &corev1.HTTPGetAction{Path: c.Probe.Path, Port: intstr.FromInt32(p.number[c.Probe.Port]), Scheme: corev1.URISchemeHTTP}
		if c.Probe.TLS != nil {
			get.Scheme = corev1.URISchemeHTTPS
		}
		out.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: get}, PeriodSeconds: 1, FailureThreshold: 60}
	}
	return out, nil
}

func amounts(a runner.Amounts) corev1.ResourceList {
	out := corev1.ResourceList{}
	if a.MilliCPU > 0 {
		out[corev1.ResourceCPU] = *resource.NewMilliQuantity(a.MilliCPU, resource.DecimalSI)
	}
	if a.Memory > 0 {
		out[corev1.ResourceMemory] = *resource.NewQuantity(a.Memory, resource.BinarySI)
	}
	return out
}
