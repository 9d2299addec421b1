/** A service that is alive answers so soon, however long a model thinks about it. */
const UNTIL_ANSWER_MS = 90_000

/** Within an answer it gives a sign of life every 20 s. */
const UNTIL_NEXT_MS = 70_000

/** Calls the service, and gives up on one that is frozen: its connection stays, and nothing comes of it. */
export const fetchUnlessSilent: typeof fetch = async (input, init) => {
  const silence = new AbortController()
  const signals = [silence.signal, ...(init?.signal ? [init.signal] : [])]
  const patience = new Patience(() => silence.abort(new TypeError('The service is silent.')))
  patience.wait(UNTIL_ANSWER_MS)
  try {
    const response = await fetch(input, { ...init, signal: AbortSignal.any(signals) })
    return watchBody(response, patience)
  } catch (error) {
    patience.end()
    throw silence.signal.aborted ? silence.signal.reason : error
  }
}

/** The same answer, whose parts are waited for with patience. */
function watchBody(response: Response, patience: Patience): Response {
  const { body, status, statusText, headers } = response
  if (!body) {
    patience.end()
    return response
  }
  patience.wait(UNTIL_NEXT_MS)
  const watched = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(part, controller) {
        patience.wait(UNTIL_NEXT_MS)
        controller.enqueue(part)
      },
      flush: () => patience.end(),
    }),
  )
  return new Response(watched, { status, statusText, headers })
}

/** Calls somebody when it has come to its end. */
class Patience {
  readonly #lose: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(lose: () => void) {
    this.#lose = lose
  }

  wait(milliseconds: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#lose, milliseconds)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
