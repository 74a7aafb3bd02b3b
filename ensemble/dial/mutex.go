package dial

// Mutex is a mutex that may be held during a wait for a server. In a bubble of testing/synctest, waiting for it is durable, unlike for
// a [sync.Mutex]: the clock advances, which the holder may be waiting for.
type Mutex chan struct{}

// NewMutex returns a mutex that is not locked.
func NewMutex() Mutex { return make(Mutex, 1) }

// Lock implements [sync.Locker].
func (m Mutex) Lock() { m <- struct{}{} }

// Unlock implements [sync.Locker].
func (m Mutex) Unlock() { <-m }
