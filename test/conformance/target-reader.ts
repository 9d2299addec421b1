import type { Api, Relation, TargetType, Verb } from './api.ts'
import { demandStatus, NotApplicable } from './check.ts'
import { type Answer, Client, type ClientOptions } from './client.ts'
import { type Json, type JsonObject, object } from './json.ts'
import { dataOf, keyOf, urlOf } from './walk.ts'

export interface Linked {
  type: TargetType
  relation: Relation
  resource: JsonObject
  /** The URLs of the relationship and of its related resources. */
  self: string
  related: string
}

/** Maximum of pages, so that an endless list ends. */
export const MAX_PAGES = 100

/** A JSON:API server as far as it is read: what it has, and where. */
export class TargetReader extends Client {
  readonly api: Api
  readonly #lists = new Map<string, Promise<Answer>>()

  constructor(options: ClientOptions, api: Api) {
    super(options)
    this.api = api
  }

  get types(): TargetType[] {
    return this.api.types
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
    const pending = this.#lists.get(type.name) ?? this.get(type.path)
    this.#lists.set(type.name, pending)
    return pending
  }

  /** Collections are asked for anew, as there may be more in them. */
  protected forgetLists(): void {
    this.#lists.clear()
  }

  async samples(type: TargetType): Promise<JsonObject[]> {
    if (type.verbs.has('list')) return dataOf((await this.list(type)).document['data'])
    const [id] = type.ids
    return id === undefined ? [] : dataOf((await this.get(this.pathOf(type, id))).document['data'])
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
}
