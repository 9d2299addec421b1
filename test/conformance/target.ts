import type { Api, GivenRelation, TargetType } from './api.ts'
import { applies, Failure, NotApplicable } from './check.ts'
import type { Answer } from './client.ts'
import { type ApiOptions, describe, learnFrom } from './discovery.ts'
import { isObject, type Json, type JsonObject, object } from './json.ts'
import { MadeResources } from './made-resources.ts'
import { readEverything } from './survey.ts'
import { TargetReader } from './target-reader.ts'
import { identifierOf } from './walk.ts'

export interface TargetOptions extends ApiOptions {
  /** True if resources may be created, changed and removed. */
  write?: boolean | undefined
  /** Called with the URLs of resources that remain at the end. */
  onLeftBehind?: (urls: string[]) => void
}

/** An id that no resource has, unless a description names one of the form that the server takes. */
export const MISSING_ID = '999999983'

/** A JSON:API server under test. Whatever is made on it is removed in the end. */
export class TargetServer extends TargetReader {
  readonly isWritable: boolean
  /** An id that no resource has. */
  readonly missingId: string
  readonly #made = new MadeResources(this)
  /** Types of which there may be only one with the same relations: each needs others of its own. */
  readonly #exclusive = new Set<string>()
  /** Types that could not be made of what is known of them. */
  readonly #unmade = new Set<string>()
  #survey: Promise<void> | undefined

  private constructor(options: TargetOptions, api: Api) {
    super(options, api)
    this.isWritable = options.write ?? false
    this.missingId = options.description?.missingId ?? MISSING_ID
  }

  static async connect(options: TargetOptions): Promise<TargetServer> {
    const server = new TargetServer(options, await describe(options))
    if (server.types.length === 0)
      throw new Error(
        'There are no types to look at: neither does the server describe any, nor were some named (--types, --describe).',
      )
    for (const type of server.types) await learnFrom(server, type)
    return server
  }

  /** A resource of the type; made where there is none and it may be. */
  async sample(type: TargetType): Promise<JsonObject> {
    const [first] = await this.samples(type)
    if (first) return first
    applies(this.isWritable && type.verbs.has('create'), `there is no ${type.name} to look at`)
    return this.make(type)
  }

  requireWrites(): void {
    applies(this.isWritable, 'the server may not be written to (--write)')
  }

  /** Types whose resources can be made and removed again. */
  makeable(): TargetType[] {
    this.requireWrites()
    return this.typesWith('create', 'delete').filter(({ name }) => !this.#unmade.has(name))
  }

  /** The document that makes a new resource. */
  async newDocument(type: TargetType): Promise<{ data: JsonObject }> {
    const relationships: JsonObject = {}
    const needed = type.create?.relations.filter(({ isRequired }) => isRequired) ?? []
    for (const relation of needed) relationships[relation.name] = { data: await this.#linkageFor(type, relation) }
    const attributes = type.create?.attributes() ?? {}
    return { data: { type: type.name, attributes, ...(needed.length > 0 && { relationships }) } }
  }

  async #linkageFor(type: TargetType, { name, to, many }: GivenRelation): Promise<Json> {
    const relation = type.relations.get(name)
    const target = this.typeOf(to ?? relation?.to)
    applies(target !== undefined, `it is not known what ${type.name}.${name} leads to`)
    const isOwn = this.#exclusive.has(type.name) && this.makeable().includes(target)
    const identifier = identifierOf(await (isOwn ? this.make(target) : this.sample(target)))
    return relation?.many || many ? [identifier] : identifier
  }

  /** Sends a document that makes a resource; whatever came of it is removed in the end. */
  async create(type: TargetType, document: Json, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.send('POST', type.path, { body: document, headers })
    this.#made.note(type, answer)
    return answer
  }

  /** A resource of our own. */
  async make(type: TargetType): Promise<JsonObject> {
    const answer = await this.create(type, await this.newDocument(type))
    if (answer.status === 409 && !this.#exclusive.has(type.name)) {
      this.#exclusive.add(type.name)
      return this.make(type)
    }
    if (answer.status >= 400) this.#unmade.add(type.name)
    const resource = object(answer.document['data'])
    applies(
      answer.status < 300 && Boolean(resource['id']),
      `no ${type.name} could be made: ${answer.status} ${answer.text.slice(0, 200)}`,
    )
    return resource
  }

  /** Creates a few resources of every type, and records the types that cannot be created. */
  async prepare(): Promise<void> {
    if (!this.isWritable) return
    await this.#made.begin(this.makeable())
    for (const type of this.makeable()) {
      const wanted = Math.max(2, 3 - (await this.samples(type)).length)
      for (let made = 0; made < wanted; made++) await this.make(type).catch(ifUnmade)
    }
    this.forgetLists()
  }

  /** Removes what was made; the URLs of what is there now and was not before. */
  cleanUp(): Promise<string[]> {
    return this.#made.remove()
  }

  /** Reads everything once in every usual way, so that there are documents to look into. */
  survey(): Promise<void> {
    this.#survey ??= readEverything(this, this.missingId)
    return this.#survey
  }

  /** Every answer with a document so far, after a look at everything. */
  async documents(): Promise<Answer[]> {
    await this.survey()
    return this.seen.filter(({ body }) => isObject(body))
  }
}

/** Ignores failures, as the obligations that need the type or the answer report them. */
function ifUnmade(cause: unknown): void {
  if (!(cause instanceof NotApplicable || cause instanceof Failure)) throw cause
}
