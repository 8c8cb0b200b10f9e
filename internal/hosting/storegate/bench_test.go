package storegate

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// BenchmarkBeside is what a tenant's calls take alone, and while another one makes 16 writes of 384 KiB at a time through the same gate.
func BenchmarkBeside(b *testing.B) {
	r := newRig(b)
	own, other := r.tenant(b, "aaaaaaaa-9101", "org-a", 1<<40), r.tenant(b, "aaaaaaaa-9102", "org-b", 1<<40)
	c, key := r.as(b, own), own.Prefix()+"own"
	if _, err := c.Put(b.Context(), key, "x"); err != nil {
		b.Fatal(err)
	}
	measure := func(b *testing.B) {
		for name, call := range map[string]func() error{
			"get":    func() error { _, err := c.Get(b.Context(), key); return err },
			"update": func() error { _, err := c.Put(b.Context(), key, "y"); return err },
		} {
			b.Run(name, func(b *testing.B) {
				var all []time.Duration
				for b.Loop() {
					begin := time.Now()
					if err := call(); err != nil {
						b.Fatal(err)
					}
					all = append(all, time.Since(begin))
				}
				slices.Sort(all)
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
	b.Run("alone", measure)
	b.Run("beside", func(b *testing.B) {
		ctx, stop := context.WithCancel(b.Context())
		var writers sync.WaitGroup
		for n := range 16 {
			writers.Go(func() {
				w, key := r.as(b, other), other.Prefix()+strconv.Itoa(n)
				for ctx.Err() == nil {
					_, _ = w.Put(ctx, key, strings.Repeat("x", 384<<10))
				}
			})
		}
		measure(b)
		stop()
		writers.Wait()
	})
}
