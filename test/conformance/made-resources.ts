import type { TargetType } from './api.ts'
import type { Answer } from './client.ts'
import { object, objects } from './json.ts'
import type { TargetReader } from './target-reader.ts'
import { dataOf } from './walk.ts'

/** Keeps account of what was made on a server, and removes it. */
export class MadeResources {
  readonly #server: TargetReader
  /** Paths of resources, the oldest first. */
  #paths: string[] = []

  constructor(server: TargetReader) {
    this.#server = server
  }

  /** Remembers what came of a creation, also of one that should have been refused. */
  note(type: TargetType, answer: Answer): void {
    if (answer.status >= 300 || !type.verbs.has('delete')) return
    for (const id of idsIn(answer)) this.#paths.push(this.#server.pathOf(type, id))
  }

  /** Removes all, the newest first; what another one stood in the way of is tried again. */
  async remove(): Promise<string[]> {
    for (let before = Number.POSITIVE_INFINITY; this.#paths.length > 0 && this.#paths.length < before; ) {
      before = this.#paths.length
      const left: string[] = []
      for (const path of this.#paths.reverse()) if (!(await this.#isRemoved(path))) left.unshift(path)
      this.#paths = left
    }
    return this.#paths.splice(0).map((path) => this.#server.url + path)
  }

  async #isRemoved(path: string): Promise<boolean> {
    const answer = await this.#server.send('DELETE', path).catch(() => undefined)
    return answer !== undefined && (answer.status < 300 || answer.status === 404 || answer.status === 410)
  }
}

/** The ids of what a creation made: those in its answer, else that in Location, else the one that was sent. */
function idsIn({ document, headers, sent }: Answer): string[] {
  const shown = dataOf(document['data']).map(({ id }) => id)
  const [located] = /[^/]+$/.exec(headers.get('location')?.replace(/[?#].*/, '') ?? '') ?? []
  const chosen = [...objects(object(sent)['data']), object(object(sent)['data'])].map(({ id }) => id)
  const tries = [shown, located ? [decodeURIComponent(located)] : [], chosen]
  const found = tries.map((ids) => ids.filter((id) => typeof id === 'string' || typeof id === 'number').map(String))
  return found.find((ids) => ids.length > 0) ?? []
}
