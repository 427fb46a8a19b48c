package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestExpiring(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding
	token := b64.EncodeToString([]byte(`{"alg":"ES256"}`)) + "." + b64.EncodeToString([]byte(`{"exp":1,"sub":"me"}`)) + ".c2ln"

	got, err := expiring(token, key, time.Unix(1234, 0))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(got, ".")
	payload, err := b64.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Exp int
		Sub string
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Exp != 1234 || claims.Sub != "me" {
		t.Errorf("claims %s, %v", payload, err)
	}
	signature, err := b64.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		t.Fatalf("signature of %d bytes, %v", len(signature), err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(&key.PublicKey, sum[:], r, s) {
		t.Error("the signature is not the key's")
	}

	for _, bad := range []string{"", "a.b", "a.!.c", "a.YQ.c"} {
		if _, err := expiring(bad, key, time.Now()); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
