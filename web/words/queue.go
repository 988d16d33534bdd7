package words

import (
	"github.com/loopscope/loopscope/telemetry"
	"github.com/loopscope/loopscope/views"
)

// Queue is what is:… calls the state of a key.
func Queue(k *telemetry.KeyState) string {
	switch k.Phase {
	case telemetry.KeyProcessing, telemetry.KeyDirty:
		return "processing"
	case telemetry.KeyReady:
		return "ready"
	case telemetry.KeyWaiting:
		if k.Attempts > 0 {
			return "back-off"
		}
		return "timer"
	case telemetry.KeyUnknown:
		return "not known"
	}
	return "idle"
}

// QueueText is the state of a key as a row has it.
func QueueText(k *telemetry.KeyState) string {
	return Queue(k)
}

// QueueNote says what a key waits for, and for how long.
func QueueNote(k *telemetry.KeyState) views.Text {
	switch {
	case k.Phase == telemetry.KeyDirty:
		return views.Say("queued again")
	case k.Phase == telemetry.KeyWaiting && k.Attempts > 0:
		return views.Sayf("try %d in ", k.Attempts+1).Until(k.Due)
	case k.Phase == telemetry.KeyWaiting:
		return views.Say(Timer(k.Code) + " in ").Until(k.Due)
	case k.Phase == telemetry.KeyUnknown:
		return nil
	case k.Phase == "":
		return views.Say("no timer")
	default:
		return views.Text{}.Since(k.Since)
	}
}

// timerWords say what a timer is for.
var timerWords = map[string]string{"deadline": "deadline", "min-ready": "minReadySeconds", "echo": "echo check",
	"back-off": "back-off", "expectations": "expectations", "status": "held-back status",
	"period": "update period", "releasing": "hand-over of pods", "listed-again": "changes may have gone unseen"}

// Timer says what a timer of that code is for.
func Timer(code string) string {
	if w, ok := timerWords[code]; ok {
		return w
	}
	return "timer"
}
