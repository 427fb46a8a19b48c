package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"
)

// tokenVerb lets a service account's token end sooner than any API server
// agrees to (ten minutes at least): the same claims, signed anew with its key.
func (c cluster) tokenVerb(args []string) error {
	if len(args) != 2 || args[0] != "expire" {
		return usageError{"token: expire SECONDS is all it can do"}
	}
	seconds, err := strconv.Atoi(args[1])
	if err != nil {
		return usageError{"token expire: what is " + args[1] + "?"}
	}
	der, err := readPEM(c.pki("service-account.key"))
	if err != nil {
		return err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	token, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<16))
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	out, err := expiring(strings.TrimSpace(string(token)), key, time.Now().Add(time.Duration(seconds)*time.Second))
	if err != nil {
		return err
	}
	fmt.Println(out)
	return nil
}

// expiring is token (a JWT) with another end, signed by key: ES256, RFC 7518
// section 3.4, where a signature is r and s, 32 bytes each.
func expiring(token string, key *ecdsa.PrivateKey, end time.Time) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", fmt.Errorf("token: %d parts, not 3", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	var claims map[string]json.RawMessage
	if err := json.Unmarshal(payload, &claims); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	claims["exp"] = json.RawMessage(strconv.FormatInt(end.Unix(), 10))
	if payload, err = json.Marshal(claims); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign the token: %w", err)
	}
	signature := append(padded(r), padded(s)...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

func padded(n *big.Int) []byte { return n.FillBytes(make([]byte, 32)) }
