package storegate

import (
	"strconv"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// BenchmarkGate does what API servers do, directly at etcd and through the gate.
func BenchmarkGate(b *testing.B) {
	r := newRig(b)
	k := r.tenant(b, "aaaaaaaa-9001", "org-a", 1<<40)
	ctx, value := b.Context(), strings.Repeat("x", 2000)
	for name, c := range map[string]*clientv3.Client{"direct": direct(b, k), "gate": r.as(b, k)} {
		p := k.Prefix() + name + "/"
		for n := range 1000 {
			if _, err := c.Put(ctx, p+"list/"+strconv.Itoa(n), value); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("get/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Get(ctx, p+"list/1"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("update/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Txn(ctx).If(clientv3.Compare(clientv3.Version(p+"list/2"), ">", 0)).Then(clientv3.OpPut(p+"list/2", value)).Else(clientv3.OpGet(p + "list/2")).Commit(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("list/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Get(ctx, p+"list/", clientv3.WithPrefix()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("watch/"+name, func(b *testing.B) {
			watching := c.Watch(ctx, p+"list/3", clientv3.WithCreatedNotify())
			<-watching
			for b.Loop() {
				if _, err := c.Put(ctx, p+"list/3", value); err != nil {
					b.Fatal(err)
				}
				<-watching
			}
		})
	}
}
