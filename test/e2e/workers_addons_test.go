//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kindsOfAddons are those of which an addon has objects.
const kindsOfAddons = "deployments,daemonsets,services,configmaps,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,apiservices,storageclasses,csidrivers,csistoragecapacities,ingressclasses,gatewayclasses"

// addons: metrics-server tells what nodes use, an autoscaler goes by it, and switched off it leaves nothing.
func (w *workers) addons(t *testing.T) {
	w.addonsReady("demo")
	if said := w.ok("cluster", "describe", "demo"); !regexp.MustCompile(`metrics-server +v0\.[0-9.]+ +Ready`).MatchString(said) {
		t.Errorf("describe does not show the addons:\n%s", said)
	}
	eventually(t, "kubectl top shows both nodes", func(context.Context) error {
		r := w.tryKubectl(w.config, "", "top", "nodes", "--no-headers")
		if lines := strings.Count(r.stdout, "\n"); r.code != 0 || lines != 2 || strings.Contains(r.stdout, "<unknown>") {
			return fmt.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
		}
		return nil
	})
	eventually(t, "the autoscaler adds a pod", func(context.Context) error {
		if n := w.kube("get", "deployment", "busy", "-o", "jsonpath={.status.replicas}"); n != "2" {
			return fmt.Errorf("there are %s; %s", n, w.kube("get", "horizontalpodautoscaler", "busy", "--no-headers"))
		}
		return nil
	})
	w.kube("delete", "deployment,horizontalpodautoscaler", "busy", "--cascade=foreground")

	if r := w.kqueen("cluster", "update", "demo", "--spec", `{"addons":[{"name":"metric-server"}]}`); r.code == 0 || !strings.Contains(r.stderr, `spec.addons[0].name: `) {
		t.Errorf("an addon that does not exist: exit code %d: %s", r.code, r.stderr)
	}
}

// stores: claims get volumes on the disks of the nodes of their pods, and a Service an address that answers on this host.
func (w *workers) stores(t *testing.T) {
	w.kube("rollout", "status", "statefulset/keeper", "--timeout=6m")
	eventually(t, "the Service answers", func(context.Context) (err error) {
		w.once, err = w.stored()
		return err
	})
	if class := w.kube("get", "persistentvolumeclaims", "-l", "app=keeper", "-o", "jsonpath={.items[*].spec.storageClassName}"); class != "local" {
		t.Errorf("the claim has the class %q", class)
	}
	const large = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"shared"},"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Mi"}}}}`
	w.kubectl(w.config, large, "create", "-f", "-")
	w.kube("run", "sharing", "--image="+testImage(t), "--overrides", `{"spec":{"containers":[{"name":"sharing","image":"`+testImage(t)+
		`","volumeMounts":[{"name":"data","mountPath":"/data"}]}],"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"shared"}}]}}`)
	eventually(t, "a claim that many nodes would write to is refused", func(context.Context) error {
		if said := w.kube("get", "events", "--field-selector", "involvedObject.name=shared,reason=ProvisioningFailed", "-o", "jsonpath={.items[*].message}"); !strings.Contains(said, "ReadWriteOnce") {
			return fmt.Errorf("its events say %q", said)
		}
		return nil
	})
	w.kube("delete", "pod/sharing", "persistentvolumeclaim/shared", "--now")
}

// stored asks the Service, by its address, what the pod has stored.
func (w *workers) stored() (string, error) {
	address := w.kube("get", "service", "keeper", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
	if address == "" {
		return "", errors.New("the Service has no address")
	}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/")
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err == nil && (response.StatusCode != http.StatusOK || len(said) == 0) {
		err = fmt.Errorf("%s: %s", response.Status, said)
	}
	return string(said), err
}

// storedStill: kills of KQueen, of a machine and of everything took nothing away.
func (w *workers) storedStill(t *testing.T) {
	eventually(t, "the Service answers with what was stored at first", func(context.Context) error {
		if said, err := w.stored(); err != nil || said != w.once {
			return fmt.Errorf("it answers %q, %w; it was %q", said, err, w.once)
		}
		return nil
	})
}

// enforcesPolicies: closed is closed, for pods and for this host, and a rule opens it for the pods that it names.
func (w *workers) enforcesPolicies(t *testing.T) {
	agents := strings.Fields(w.kube("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[*].metadata.name}")) // one on each node
	may := func(want map[string]bool) func(context.Context) error {
		return func(context.Context) error {
			for name, open := range want {
				r := w.tryKubectl(w.config, "", "exec", name, "--", "wget", "-q", "-O", "-", "-T", "2", "http://keeper.default.svc.cluster.local/")
				if (r.code == 0) != open || open && r.stdout != w.once {
					return fmt.Errorf("%s asks and hears %q %s", name, r.stdout, r.stderr)
				}
			}
			_, err := w.stored()
			if all := want[agents[0]] && want[agents[1]]; (err == nil) != all {
				return fmt.Errorf("this host asks: %w", err)
			}
			return nil
		}
	}
	eventually(t, "every pod comes through", may(map[string]bool{agents[0]: true, agents[1]: true}))
	if r := w.tryKubectl(w.config, keeperPolicy(""), "apply", "-f", "-"); r.code != 0 || strings.Contains(r.stderr, "Warning") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
	eventually(t, "no pod comes through", may(map[string]bool{agents[0]: false, agents[1]: false}))
	w.kube("label", "pod", agents[0], "may=yes")
	w.kubectl(w.config, keeperPolicy(`{"from":[{"podSelector":{"matchLabels":{"may":"yes"}}}],"ports":[{"port":8080}]}`), "apply", "-f", "-")
	eventually(t, "the one that is named comes through", may(map[string]bool{agents[0]: true, agents[1]: false}))
}

// keeperPolicy lets in to the pods of keeper what a rule says.
func keeperPolicy(rule string) string {
	return `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"keeper"},"spec":` +
		`{"podSelector":{"matchLabels":{"app":"keeper"}},"policyTypes":["Ingress"],"ingress":[` + rule + `]}}`
}

// addonsOff: what is switched off leaves nothing in the cluster, nor in the packet filters of its nodes.
func (w *workers) addonsOff(t *testing.T) {
	const label = "kqueen.io/addon in (metrics-server,load-balancer,network-policies,traefik)"
	if found := strings.Fields(w.kube("get", kindsOfAddons, "-A", "-l", label, "-o", "name")); len(found) < 20 {
		t.Errorf("only %v are found by the label, so nothing is looked for", found)
	}
	for _, addon := range []string{"metrics-server", "load-balancer", "network-policies", "traefik"} {
		w.ok("cluster", "addon", "disable", "demo", addon)
	}
	eventually(t, "nothing of the addons is left", func(context.Context) error {
		left := w.kube("get", kindsOfAddons, "-A", "-l", label, "-o", "name") +
			w.kube("get", "pods", "-n", "kube-system", "-o", "name", "-l", "k8s-app in (metrics-server, kqueen-load-balancer, traefik)") +
			w.kube("get", "pods", "-n", "kube-system", "-o", "name", "-l", "app=kqueen-network-policies") +
			w.kube("get", "service", "keeper", "-o", "jsonpath={.status.loadBalancer.ingress}")
		for _, m := range w.machines() {
			rules := exec.CommandContext(t.Context(), "nsenter", "-t", strconv.Itoa(w.pid(m.Namespace+"/"+m.Name, "kubelet")), "-n", "nft", "list", "tables")
			out, err := rules.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "table") {
				return fmt.Errorf("list the tables of %s: %w: %s", m.Name, err, out)
			}
			if strings.Contains(string(out), "kqueen-network-policies") {
				left += string(out)
			}
		}
		if left != "" {
			return fmt.Errorf("there are %s", left)
		}
		return nil
	})
	w.kube("delete", "networkpolicy", "keeper")
	if r := w.tryKubectl(w.config, keeperPolicy(""), "create", "-f", "-"); r.code != 0 || !strings.Contains(r.stderr, "Warning: ") || !strings.Contains(r.stderr, "does not enforce NetworkPolicies") {
		t.Errorf("a user who creates a NetworkPolicy then hears (exit code %d) %q", r.code, r.stderr)
	}
	if said, err := w.stored(); err == nil {
		t.Errorf("the address of the Service still answers: %q", said)
	}
	w.ok("cluster", "addon", "enable", "demo", "metrics-server")
}
