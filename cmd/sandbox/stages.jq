# Functions that every jq expression of stages.yaml may use.

# note is what an annotation of the sandbox says, null where there is none.
def note($name): .metadata.annotations["sandbox.loopscope.dev/" + $name];

def living: .metadata.deletionTimestamp == null;
def pending: .status.phase == "Pending";
def running: .status.phase == "Running";
def begun: (.status.containerStatuses // [] | length) > 0;
def ready: [.status.conditions[]? | select(.type == "Ready" and .status == "True")] | length > 0;
def placed: [.status.conditions[]? | select(.type == "PodReadyToStartContainers")] | length > 0;

def unpullable: (test("@") | not) and test(":(401|404|429|bad[^:/]*)$");

# doomed are the statuses of the containers that the annotations are about: the
# one that is named, else all but init containers.
def doomed:
  note("container") as $name
  | [.status.initContainerStatuses[]?, .status.containerStatuses[]? | select(.name == $name)]
    + [.status.containerStatuses[]?]
  | if .[0].name == $name then .[:1] else . end;

def waits($reasons): [.status.initContainerStatuses[]?, .status.containerStatuses[]? | .state.waiting.reason // "" | select(test("^(" + $reasons + ")$"))] | length > 0;

def exits:
  note("crash-loop") == "true" or (note("exit") // "" | test("^[0-9]{1,3}$"))
  or (note("probe") // "" | test("^(liveness|startup)$"));

# fate is what becomes of a pod once it is placed. Each stage but the first and
# the last is of one fate, so that no two of them match.
def fate:
  note("container") as $name
  | if ([.spec.containers[].image, .spec.initContainers[]?.image] | any(unpullable)) or note("waiting") == "ErrImagePull" then "pull"
    elif note("fails") != null then "fail"
    elif note("exit") == "never" and any(.spec.initContainers[]?; .name == $name) then "stuck"
    elif note("waiting") != null and (exits | not) then "stuck"
    elif exits then "crash"
    elif note("never-ready") == "true" or note("probe") == "readiness" then "unready"
    else "ready" end;

