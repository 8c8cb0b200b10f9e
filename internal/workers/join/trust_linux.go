package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

const (
	// libDir is the folder that has the kubelet's.
	libDir = "/var/lib"
	// authoritiesInterval is the time between two questions to the cluster for its authorities.
	authoritiesInterval = 30 * time.Second
)

// trustedBy are the authorities that the programs of a node whose files are in a folder are to trust now, when wanted are those of its cluster.
func trustedBy(dir string, wanted []byte) ([]byte, error) {
	before, err := os.ReadFile(filepath.Join(dir, node.FileCA))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what the node trusts: %w", err)
	}
	good, err := node.GoodFor(libDir)
	if err != nil {
		return nil, fmt.Errorf("read for which authorities the node has certificates: %w", err)
	}
	return node.Settled(wanted, before, good), nil
}

// followAuthorities learns of other authorities of the cluster, and says on the Node which ones its programs trust.
func (s *Supervisor) followAuthorities(ctx context.Context, r *Record) error {
	if !r.Joined() {
		return nil
	}
	if time.Since(s.asked) >= authoritiesInterval {
		s.asked = time.Now()
		if err := s.learn(ctx, r); err != nil {
			return fmt.Errorf("ask the cluster for its authorities: %w", err)
		}
	}
	hash := machine.TrustHash(s.trusted)
	if s.written.State != machine.Running || s.said == hash {
		return nil
	}
	config, err := kube.Config(kube.Target{Kubeconfig: node.KubeletKubeconfig, Version: "machine"})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = kube.AnnotateNode(ctx, config, r.Node, map[string]string{v1alpha1.AnnotationTrustHash: hash})
	if apierrors.IsNotFound(err) { // it is not registered yet
		return nil
	}
	if err != nil {
		return fmt.Errorf("say on the node which authorities it trusts: %w", err)
	}
	s.said = hash
	return nil
}

// learn asks the cluster, which is known by the authorities of before, for those of now, and keeps them.
func (s *Supervisor) learn(ctx context.Context, r *Record) error {
	from, err := newCaller(r.Cluster.Server, r.Cluster.CA, "")
	if err != nil {
		return err
	}
	info := &corev1.ConfigMap{}
	if err := from.get(ctx, pathInfo, info); err != nil {
		return err
	}
	authorities, err := authoritiesIn(info.Data[bootstrapapi.KubeConfigKey])
	if err != nil || bytes.Equal(authorities, r.Cluster.CA) {
		return err
	}
	if _, err := machine.KeyHashes(authorities); err != nil { // with what cannot be read, the node would trust nothing
		return err
	}
	r.Cluster.CA = authorities
	if err := s.Place.Save(r); err != nil {
		return err
	}
	s.Log.Info("the cluster has other authorities, which the node follows")
	return nil
}
