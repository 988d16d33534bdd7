package main

import (
	"context"
	"fmt"
	"os"
)

// parts is what a binary is made of, as the binary itself says, in CycloneDX.
func (b binary) parts(ctx context.Context, version string) ([]byte, error) {
	text, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	// The tool is one of this module, in which this program runs.
	said, err := output(ctx, "", settings, "go", "tool", "cyclonedx-gomod", "bin", "-json", "-std", "-notimestamp", "-serial="+serial(sumOf(text)), "-version="+version, b.path)
	return []byte(said + "\n"), err
}

// serial is a UUID (version 8: of one's own making) from a sum: the same binary has the same.
func serial(sum string) string {
	return fmt.Sprintf("%s-%s-8%s-a%s-%s", sum[:8], sum[8:12], sum[13:16], sum[17:20], sum[20:32])
}
