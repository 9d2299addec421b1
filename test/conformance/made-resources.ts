import type { TargetType } from './api.ts'
import type { Answer } from './client.ts'
import { object, objects } from './json.ts'
import type { TargetReader } from './target-reader.ts'
import { dataOf } from './walk.ts'

/** Keeps account of what was made on a server, and removes it. Never touches what was there before. */
export class MadeResources {
  readonly #server: TargetReader
  /** Paths of resources, the oldest first. */
  #paths: string[] = []
  /** Paths of what was there at first. */
  readonly #before = new Map<TargetType, Set<string>>()

  constructor(server: TargetReader) {
    this.#server = server
  }

  /** Records the existing resources, to tell them from those of the tests. */
  async begin(types: TargetType[]): Promise<void> {
    for (const type of types.filter(({ verbs }) => verbs.has('list')))
      this.#before.set(type, new Set(await this.#pathsIn(type)))
  }

  /** Records the resources of a creation, even of one that should have been refused. */
  note(type: TargetType, answer: Answer): void {
    if (answer.status >= 300 || !type.verbs.has('delete')) return
    for (const id of idsMadeBy(answer)) this.#paths.push(this.#server.pathOf(type, id))
  }

  /** Removes all, the newest first; the URLs of what there is now and was not before. */
  async remove(): Promise<string[]> {
    const left = await this.#removeEach(this.#paths.splice(0))
    const others: string[] = []
    for (const [type, before] of this.#before) {
      const now = (await this.#pathsIn(type)).filter((path) => !before.has(path) && !left.includes(path))
      const answered = new Set(this.#server.seen.flatMap((answer) => this.#answeredTo(answer, type)))
      // Resources of others, created meanwhile, stay.
      const ours = await this.#removeEach(now.filter((path) => answered.has(path)))
      others.push(...ours, ...now.filter((path) => !answered.has(path)))
    }
    return [...left, ...others].map((path) => this.#server.url + path)
  }

  /** Removes resources repeatedly, since one may block the removal of another, until nothing more can be removed. */
  async #removeEach(paths: string[]): Promise<string[]> {
    let left = paths
    for (let before = Number.POSITIVE_INFINITY; left.length > 0 && left.length < before; ) {
      before = left.length
      const kept: string[] = []
      for (const path of left.toReversed()) if (!(await this.#isRemoved(path))) kept.unshift(path)
      left = kept
    }
    return left
  }

  async #isRemoved(path: string): Promise<boolean> {
    const answer = await this.#server.send('DELETE', path).catch(() => undefined)
    return answer !== undefined && (answer.status < 300 || answer.status === 404 || answer.status === 410)
  }

  async #pathsIn(type: TargetType): Promise<string[]> {
    const found = await this.#server.allDataAt(this.#server.url + type.path).catch(() => [])
    return found.map(({ id }) => this.#server.pathOf(type, id))
  }

  /** Paths of the resources with which a server answered to a write. */
  #answeredTo({ method, document }: Answer, type: TargetType): string[] {
    return method === 'GET' ? [] : dataOf(document['data']).map(({ id }) => this.#server.pathOf(type, id))
  }
}

/** The ids of what a creation made: those in its answer, else that in Location, else the one that was sent. */
function idsMadeBy({ document, headers, sent }: Answer): string[] {
  const shown = dataOf(document['data']).map(({ id }) => id)
  const [located] = /[^/]+$/.exec(headers.get('location')?.replace(/[?#].*/, '') ?? '') ?? []
  const chosen = [...objects(object(sent)['data']), object(object(sent)['data'])].map(({ id }) => id)
  const tries = [shown, located ? [decodeURIComponent(located)] : [], chosen]
  const found = tries.map((ids) => ids.filter((id) => typeof id === 'string' || typeof id === 'number').map(String))
  return found.find((ids) => ids.length > 0) ?? []
}
