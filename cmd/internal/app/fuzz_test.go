package app

import (
	"net"
	"testing"
)

// FuzzLoopback proves that an address that is taken for the console is one that
// nobody else can reach.
func FuzzLoopback(f *testing.F) {
	for _, address := range []string{DefaultListen, "localhost:0", "[::1]:80", "0.0.0.0:80", ":80", "10.0.0.1:80", "[::ffff:127.0.0.1]:1", "127.1:80", "localhost", "[::1%lo]:80", "0x7f.1:80", "127.0.0.1.example:80", "\x00:1"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if CheckListen(address) != nil {
			return
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatalf("takes %q: %v", address, err)
		}
		if host == "localhost" {
			return
		}
		resolved, err := net.ResolveIPAddr("ip", host)
		if err != nil || !resolved.IP.IsLoopback() {
			t.Fatalf("takes %q, which is %v (%v)", address, resolved, err)
		}
	})
}
