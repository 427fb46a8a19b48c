//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

const keySecret = "launch-ssh"

// sshKeys returns a Secret like that of mpi-operator v2: an ECDSA P-521 key under the names
// that ssh and sshd look for.
func sshKeys() (corev1.Secret, error) {
	secret := corev1.Secret{TypeMeta: kube.Kind("v1", "Secret"), ObjectMeta: kube.Named(keySecret)}
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		return secret, fmt.Errorf("make key: %w", err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return secret, fmt.Errorf("make key: %w", err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return secret, fmt.Errorf("make key: %w", err)
	}
	line := authorized(public)
	secret.Data = map[string][]byte{
		"id_rsa":          pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
		"id_rsa.pub":      line,
		"authorized_keys": line,
	}
	return secret, nil
}

// authorized returns the line of authorized_keys for a point of P-521 (RFC 5656, 3.1).
func authorized(point []byte) []byte {
	const kind = "ecdsa-sha2-nistp521"
	var blob []byte
	for _, part := range [][]byte{[]byte(kind), []byte("nistp521"), point} {
		blob = binary.BigEndian.AppendUint32(blob, uint32(len(part)))
		blob = append(blob, part...)
	}
	return fmt.Appendf(nil, "%s %s\n", kind, base64.StdEncoding.EncodeToString(blob))
}

// serveSSH runs sshd in workers that have another PID 1, until ctx has ended and no worker is left.
// The parent of sshd is outside the container, so PID 1 does not know it.
func (w *world) serveSSH(ctx context.Context, workers map[string]container, addresses map[string]string) (wait func(), err error) {
	log, err := os.Create(filepath.Join(w.Dir, "sshd.log"))
	if err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	for _, c := range workers {
		cmd := c.enter(ctx, "exec /usr/sbin/sshd -De")
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			return nil, fmt.Errorf("start sshd: %w", err)
		}
		all.Go(func() { _ = cmd.Wait() }) // sshd ends with its pod
	}
	wait = func() {
		all.Wait()
		_ = log.Close()
	}
	for pod, address := range addresses {
		if err := answers(ctx, net.JoinHostPort(address, "22")); err != nil {
			text, _ := os.ReadFile(log.Name())
			return wait, fmt.Errorf("sshd of %s: %w\n%s", pod, err, text)
		}
	}
	return wait, nil
}

// answers waits until a server accepts connections at address.
func answers(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return await.Until(ctx, 50*time.Millisecond, address, func() (bool, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, err
		}
		return true, conn.Close()
	})
}
