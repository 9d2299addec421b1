/** One call as its client saw it, in milliseconds of one clock. */
export interface Operation {
  startedAt: number
  endedAt: number
  /** `unknown`: the connection broke, so the call may have been made or not. */
  outcome: 'answered' | 'refused' | 'failed' | 'unknown'
  /** The id of the request, if an answer named it. */
  requestId?: string | undefined
}

/** Used and reserved amounts of a limit at one moment, from the database. */
export interface Sample {
  used: number
  held: number
  cap: number
  /** Holds whose lease has ended a minute ago or more. */
  outlived: number
}

export interface RecordedCall {
  requestId: string
  outcome: string
}

/** Cap in the unit of the limit, from a moment on. */
export interface CapChange {
  at: number
  cap: number
}

interface History {
  operations: readonly Operation[]
  samples: readonly Sample[]
  records: readonly RecordedCall[]
  caps: readonly CapChange[]
  /** Largest reservation of a call and smallest usage of an answer, in the unit of the limit; one for a limit in requests. */
  most?: number
  least?: number
}

/** Returns everything in a history of calls that an exact limit would have prevented. */
export function findViolations({ operations, samples, records, caps, most = 1, least = 1 }: History): string[] {
  const count = (outcome: Operation['outcome']) => operations.filter((call) => call.outcome === outcome).length
  const byId = Map.groupBy(records, ({ requestId }) => requestId)
  const known = new Set(operations.map(({ requestId }) => requestId))
  const strangers = records.filter(({ requestId }) => !known.has(requestId)).length
  return [
    ...samples.flatMap(findOverruns),
    ...operations.flatMap((call) => findUnrecorded(call, byId.get(call.requestId ?? '') ?? [])),
    ...operations.flatMap((call) => findWrongRefusals(call, operations, { caps, most })),
    ...(strangers > count('unknown')
      ? [`${strangers} records of no call, and only ${count('unknown')} unknown ends`]
      : []),
    ...(count('answered') * least > lastCap(caps)
      ? [`${count('answered')} calls were answered, of ${lastCap(caps)}`]
      : []),
  ]
}

const lastCap = (caps: readonly CapChange[]) => caps.at(-1)?.cap ?? 0

function findOverruns({ used, held, cap, outlived }: Sample): string[] {
  return [
    ...(used + held > cap ? [`${used} used and ${held} held, of ${cap}`] : []),
    ...(outlived > 0 ? [`${outlived} holds outlived their lease`] : []),
  ]
}

function findUnrecorded({ outcome, requestId }: Operation, records: readonly RecordedCall[]): string[] {
  // Another process settles the call of one that was killed right after its answer.
  if (outcome === 'answered' && !/^(completed|lost)$/.test(records.map((record) => record.outcome).join()))
    return [`the answered call ${requestId} has the records ${JSON.stringify(records)}`]
  if (outcome === 'refused' && records.length > 0) return [`the refused call ${requestId} has a record`]
  return []
}

/** A refusal is right only if the calls admitted before its end can have used too much of the cap. */
function findWrongRefusals(
  call: Operation,
  all: readonly Operation[],
  { caps, most }: { caps: readonly CapChange[]; most: number },
): string[] {
  if (call.outcome !== 'refused') return []
  const [cap = 0] = caps.flatMap(({ at, cap }) => (at <= call.startedAt ? [cap] : [])).slice(-1)
  const others = all.filter(({ outcome, startedAt }) => outcome !== 'refused' && startedAt < call.endedAt)
  const used = others.length * most
  return used + most <= cap ? [`a call was refused when at most ${used} of ${cap} were used`] : []
}
