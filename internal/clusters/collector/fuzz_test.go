package collector

import "testing"

// FuzzObjects: whatever an API server sends as an object is taken apart or refused.
func FuzzObjects(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","uid":"u"},"spec":{"containers":[{"name":"c","image":"a:b@c"}]},"status":{"conditions":[{"type":"Ready"}]}}`)
	f.Add(`{"metadata":{"uid":"u"},"data":{"tls.crt":"LS0tLS1CRUdJTg=="},"type":"Warning","involvedObject":{"name":"n"},"lastTimestamp":"2026-01-01T00:00:00Z"}`)
	for _, raw := range []string{
		`{"metadata":{"name":"a-5d9c7b8f6-x2x4z","namespace":"n","uid":"u","ownerReferences":[{"kind":"ReplicaSet","name":"a-5d9c7b8f6","uid":"r","controller":true}],"annotations":{"kubernetes.io/config.mirror":"m"}},
			"spec":{"nodeName":"n1","containers":[{"name":"c","image":"r:5000/a:b"}],"initContainers":[{"name":"i","image":"a","restartPolicy":"Always"}]},
			"status":{"phase":"Pending","containerStatuses":[{"name":"c","imageID":"docker-pullable://r/a@sha256:1","state":{"waiting":{"reason":"ErrImagePull"}}}]}}`,
		`{"metadata":{"name":"n1","uid":"u","labels":{"topology.kubernetes.io/zone":"z"}},"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"1e999"},"conditions":[{"type":"Ready","status":"False","reason":"r"}],
			"nodeInfo":{"kubeletVersion":"v1.36.3-gke.1","containerRuntimeVersion":"containerd://2.0.0"}}}`,
		`{"metadata":{"name":"d","namespace":"kube-system","uid":"u"},"spec":{"replicas":-1,"completions":2,"selector":{"matchLabels":{"k8s-app":"kube-dns"}}},"status":{"readyReplicas":2147483647}}`,
		`{"metadata":{"name":"s","uid":"u"},"spec":{"type":"LoadBalancer","ports":[{"protocol":"TCP","port":65536}]},"status":{"loadBalancer":{"ingress":[{"ip":"fe80::1"},{"hostname":"h"}]}}}`,
		`{"metadata":{"name":"i","uid":"u","annotations":{"kubernetes.io/ingress.class":"c"}},"spec":{"defaultBackend":{"service":{"name":"s"}},"tls":[{"secretName":"t"}],"rules":[{"host":"*.h","http":{"paths":[{"backend":{"service":{"name":"s"}}}]}}]}}`,
		`{"metadata":{"name":"v","uid":"u"},"spec":{"storageClassName":"c","volumeName":"v","capacity":{"storage":"-5Ei"}},"status":{"phase":"Bound","capacity":{"storage":"0.1m"}}}`,
		`{"metadata":{"name":"e","uid":"u"},"reason":"Failed","type":"Warning","message":"m\n","involvedObject":{"kind":"Pod","namespace":"n","name":"p","uid":"x"},"eventTime":"9999-12-31T23:59:59Z","series":{"lastObservedTime":"0001-01-01T00:00:00Z"}}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		kinds := resourceKinds(true)
		l := newLedger(kinds, 1<<30)
		for _, r := range kinds {
			if err := l.take(r, []byte(raw), nil); err != nil {
				continue
			}
			if err := l.remove(r, []byte(raw)); err != nil {
				t.Errorf("%s took it and did not let it go: %v", r.name, err)
			}
		}
		for kind, g := range l.kinds {
			if len(g.set) != 0 {
				t.Errorf("%d items of kind %s are left", len(g.set), kind)
			}
		}
	})
}
