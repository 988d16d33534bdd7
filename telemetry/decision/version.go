package decision

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CheckVersion refuses a recorded snapshot that is not of the version that is read, and text
// behind it. It comes before the fields, as a newer snapshot may have some that would otherwise
// be reported as unknown.
func CheckVersion(data []byte, reads int) error {
	var head struct {
		Version *int `json:"v"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch {
	case head.Version == nil:
		return errors.New(`no version: a snapshot begins with "v": 1`)
	case *head.Version != reads:
		return fmt.Errorf("version %d, and this program reads version %d: use the release that wrote it", *head.Version, reads)
	}
	return nil
}
