package collector

import "testing"

// FuzzObjects: whatever an API server sends as an object is taken apart or refused.
func FuzzObjects(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","uid":"u"},"spec":{"containers":[{"name":"c","image":"a:b@c"}]},"status":{"conditions":[{"type":"Ready"}]}}`)
	f.Add(`{"metadata":{"uid":"u"},"data":{"tls.crt":"LS0tLS1CRUdJTg=="},"type":"Warning","involvedObject":{"name":"n"},"lastTimestamp":"2026-01-01T00:00:00Z"}`)
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
