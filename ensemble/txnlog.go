package ensemble

import "fmt"

// TxnLog says where the servers that zkbench starts keep their transaction logs.
type TxnLog string

const (
	// OnDisk is where a production ensemble has them: each write waits for an fsync on a majority of the servers.
	OnDisk TxnLog = "disk"
	// InMemory is a memory file system, which takes the disk out of every write.
	InMemory TxnLog = "memory"
)

// TxnLogs lists the places, first the default.
func TxnLogs() []TxnLog { return []TxnLog{OnDisk, InMemory} }

// MemoryLogBytes bounds a server's transaction log in memory, which is taken as the log grows. The writes of a lock took
// about 150 bytes each, so that this is room for 7 million of them. A server whose log is full ends.
const MemoryLogBytes = 1 << 30

// attachable returns an error if an ensemble that is up keeps its transaction logs elsewhere than was asked for.
func (o Options) attachable(kept TxnLog) error {
	if o.TxnLog != "" && o.TxnLog != kept {
		return fmt.Errorf("ensemble %q is already up and keeps its transaction logs %s: `zkbench ensemble down --name %s` first to start it with --txn-log %s",
			o.Name, kept.where(), o.Name, o.TxnLog)
	}
	return nil
}

// where completes a sentence about transaction logs.
func (t TxnLog) where() string {
	if t == InMemory {
		return "in memory"
	}
	return "on disk"
}
