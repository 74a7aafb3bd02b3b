package dial

// Mutex is a mutex that may be held during a wait for a server. Unlike a wait for a [sync.Mutex], a wait for it is durable in a bubble of
// testing/synctest: it does not stop the clock on which its holder waits.
type Mutex chan struct{}

// NewMutex returns a mutex that is not locked.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock implements [sync.Locker].
func (m Mutex) Lock() { m <- struct{}{} }

// Unlock implements [sync.Locker].
func (m Mutex) Unlock() { <-m }
