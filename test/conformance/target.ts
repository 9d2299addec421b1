import { applies, demandStatus, NotApplicable } from './check.ts'
import { type Answer, Client } from './client.ts'
import { describe, learnFrom } from './discovery.ts'
import { isObject, type Json, type JsonObject, list, object, text } from './json.ts'
import type { Description, Relation, TargetType, Verb } from './openapi.ts'
import { dataOf, identifierOf, keyOf, urlOf } from './walk.ts'

export interface TargetOptions {
  url: string
  token?: string | undefined
  /** Where the service describes itself; `{url}/openapi.json` unless said otherwise. */
  openapi?: string | undefined
  /** Only these types; where there is no description, the way to know them. */
  types?: string[] | undefined
  /** Whether resources may be made, changed and removed. */
  write?: boolean | undefined
}

export interface Linked {
  type: TargetType
  relation: Relation
  resource: JsonObject
  /** Where the relationship and the related resources are read. */
  self: string
  related: string
}

/** So that a walk over pages that never ends comes to an end. */
export const MAX_PAGES = 100

/** A JSON:API server as the suite sees it: what it has, and a way to ask it. */
export class TargetServer extends Client {
  readonly description: Description
  readonly isWritable: boolean
  readonly #lists = new Map<string, Promise<Answer>>()
  readonly #made: { type: TargetType; id: string }[] = []
  /** Types of which there may be only one with the same relations: each needs others of its own. */
  readonly #exclusive = new Set<string>()
  /** Types that could not be made of what is known of them. */
  readonly #unmade = new Set<string>()
  #survey: Promise<void> | undefined

  constructor({ url, token, write = false }: TargetOptions, description: Description) {
    super(url, token)
    this.isWritable = write
    this.description = description
  }

  static async connect(options: TargetOptions): Promise<TargetServer> {
    const server = new TargetServer(options, await describe(options))
    if (server.types.length === 0)
      throw new Error(
        'There are no types to look at: neither does the server describe any, nor were some named (--types).',
      )
    for (const type of server.types) await learnFrom(server, type)
    return server
  }

  get types(): TargetType[] {
    return this.description.types
  }

  typesWith(...verbs: Verb[]): TargetType[] {
    return this.types.filter((type) => verbs.every((verb) => type.verbs.has(verb)))
  }

  typeOf(name: string | undefined): TargetType | undefined {
    return this.types.find((type) => type.name === name)
  }

  pathOf(type: TargetType, id: Json | undefined): string {
    return `${type.path}/${encodeURIComponent(String(id))}`
  }

  /** The collection as it comes by default; asked for once. */
  list(type: TargetType): Promise<Answer> {
    const asked = this.#lists.get(type.name) ?? this.get(type.path)
    this.#lists.set(type.name, asked)
    return asked
  }

  async samples(type: TargetType): Promise<JsonObject[]> {
    if (type.verbs.has('list')) return dataOf((await this.list(type)).document['data'])
    const [id] = type.ids
    return id === undefined ? [] : dataOf((await this.get(this.pathOf(type, id))).document['data'])
  }

  /** A resource of the type; made where there is none and it may be. */
  async sample(type: TargetType): Promise<JsonObject> {
    const [first] = await this.samples(type)
    if (first) return first
    applies(this.isWritable && type.verbs.has('create'), `there is no ${type.name} to look at`)
    return this.make(type)
  }

  /** The ids of a whole collection, page by page. */
  async allKeys(type: TargetType): Promise<string[]> {
    const pages = await this.pagesFrom(await this.get(type.path))
    return pages.flatMap(({ document }) => dataOf(document['data']).map(keyOf))
  }

  /** A page and those that a link of each, such as `next`, leads on to. */
  async pagesFrom(first: Answer, link = 'next'): Promise<Answer[]> {
    const pages = [first]
    for (let page = first; pages.length < MAX_PAGES; pages.push(page)) {
      const on = object(page.document['links'])[link]
      if (!urlOf(on)) break
      page = await this.follow(on)
      demandStatus(page, 200)
    }
    return pages
  }

  /** All that a URL leads to, over all its pages. */
  async allDataAt(url: string): Promise<JsonObject[]> {
    const first = await this.get(url)
    demandStatus(first, 200)
    return (await this.pagesFrom(first)).flatMap(({ document }) => dataOf(document['data']))
  }

  /** The relations of every type, on each of its first few resources. */
  async linked(perType = 3): Promise<Linked[]> {
    const found: Linked[] = []
    for (const type of this.types.filter(({ relations }) => relations.size)) {
      const resources = (await this.samples(type)).slice(0, perType)
      for (const resource of resources) found.push(...this.linksOf(type, resource))
    }
    return found
  }

  linkedBy(type: TargetType, resource: JsonObject, name: string): Linked {
    const found = this.linksOf(type, resource).find(({ relation }) => relation.name === name)
    if (!found) throw new NotApplicable(`${type.name} has no relation ${name}`)
    return found
  }

  /** The relationships of a resource, and where each is read. */
  linksOf(type: TargetType, resource: JsonObject): Linked[] {
    return [...type.relations.values()].map((relation) => {
      const links = object(object(object(resource['relationships'])[relation.name])['links'])
      const own = this.url + this.pathOf(type, resource['id'])
      const absolute = (link: Json | undefined, fallback: string, known: boolean) =>
        urlOf(link) ? new URL(urlOf(link), this.url).href : known ? fallback : ''
      return {
        type,
        relation,
        resource,
        self: absolute(links['self'], `${own}/relationships/${relation.name}`, relation.linkage),
        related: absolute(links['related'], `${own}/${relation.name}`, relation.related),
      }
    })
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
    const { schemas } = this.description
    const data = schemas.member(type.create, 'data')
    const attributes = schemas.valueFor(schemas.member(data, 'attributes'))
    const relationships: JsonObject = {}
    const needed = list(schemas.member(data, 'relationships')['required']).map(text)
    for (const name of needed) relationships[name] = { data: await this.#linkageFor(type, name) }
    return { data: { type: type.name, attributes, ...(needed.length > 0 && { relationships }) } }
  }

  async #linkageFor(type: TargetType, name: string): Promise<Json> {
    const { schemas } = this.description
    const relation = type.relations.get(name)
    const schema = schemas.member(type.create, 'data', 'relationships', name, 'data')
    const [named] = schemas.enumeration(schemas.member(schema['items'] ?? schema, 'type'))
    const target = this.typeOf(named ?? relation?.to)
    applies(target !== undefined, `it is not known what ${type.name}.${name} leads to`)
    const isOwn = this.#exclusive.has(type.name) && this.makeable().includes(target)
    const identifier = identifierOf(await (isOwn ? this.make(target) : this.sample(target)))
    return relation?.many || schema['items'] ? [identifier] : identifier
  }

  /** Sends a document that makes a resource; whatever came of it is removed in the end. */
  async create(type: TargetType, document: Json, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.send('POST', type.path, { body: document, headers })
    const id = text(object(answer.document['data'])['id'])
    if (answer.status < 300 && id) this.#made.push({ type, id })
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

  /** Sees to a few resources of every type that can be made, and learns which ones cannot. */
  async prepare(): Promise<void> {
    if (!this.isWritable) return
    for (const type of this.makeable()) {
      const wanted = Math.max(2, 3 - (await this.samples(type)).length)
      for (let made = 0; made < wanted; made++) await this.make(type).catch(ifNotApplicable)
    }
    this.#lists.clear()
  }

  async cleanUp(): Promise<void> {
    for (const { type, id } of this.#made.splice(0).reverse()) {
      if (type.verbs.has('delete')) await this.send('DELETE', this.pathOf(type, id))
    }
  }

  /** Reads everything once in every usual way, so that there are documents to look into. */
  survey(): Promise<void> {
    this.#survey ??= this.#readEverything()
    return this.#survey
  }

  async #readEverything(): Promise<void> {
    for (const type of this.types) await this.#readType(type)
    for (const { self, related } of await this.linked(2)) {
      for (const link of [self, related].filter(Boolean)) await this.get(link)
    }
  }

  async #readType(type: TargetType): Promise<void> {
    const { verbs, path, includes } = type
    if (verbs.has('list')) {
      await this.get(path, includes.length > 0 ? { include: includes.join() } : '')
      await this.get(path, 'nonesuch=1')
    }
    const [first] = await this.samples(type)
    if (!verbs.has('get')) return
    await this.get(this.pathOf(type, nobody))
    if (first) await this.get(this.pathOf(type, first['id']))
  }

  /** Every answer with a document so far, after a look at everything. */
  async documents(): Promise<Answer[]> {
    await this.survey()
    return this.seen.filter(({ body }) => isObject(body))
  }
}

/** An id that nobody has. */
export const nobody = '999999983'

function ifNotApplicable(cause: unknown): void {
  if (!(cause instanceof NotApplicable)) throw cause
}
