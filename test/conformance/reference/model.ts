import type { Json, JsonObject } from '../json.ts'

export interface Relation {
  to: string
  many?: true
  /** The relation of the other type that holds this one; it can only be read. */
  inverse?: string
  required?: true
  /** Linkage comes in pages of so many. */
  pageSize?: number
}

export interface Type {
  /** A schema for each attribute. */
  attributes: Record<string, JsonObject>
  relations: Record<string, Relation>
  includes: string[]
  sorts: string[]
  pageSize?: number
  readOnly?: true
  /** Clients may choose ids. */
  ownIds?: true
}

export const types: Record<string, Type> = {
  articles: {
    attributes: {
      title: { type: 'string', minLength: 1, maxLength: 40 },
      words: { type: 'integer', minimum: 1 },
      published: { type: 'boolean' },
      subtitle: { type: ['string', 'null'] },
    },
    relations: {
      author: { to: 'people', required: true },
      editor: { to: 'people' },
      sequel: { to: 'articles' },
      tags: { to: 'tags', many: true },
      comments: { to: 'comments', many: true, inverse: 'article' },
    },
    includes: ['author', 'editor', 'tags', 'comments', 'author.articles', 'comments.article.author'],
    sorts: ['title', 'words'],
    pageSize: 3,
  },
  comments: {
    attributes: { body: { type: 'string' } },
    relations: { article: { to: 'articles', required: true } },
    includes: ['article', 'article.author'],
    sorts: [],
    pageSize: 50,
  },
  people: {
    attributes: {
      // Stars are readable where they exist.
      pin: { type: ['string', 'null'], writeOnly: true },
      name: { type: 'string', minLength: 1 },
      bornOn: { type: ['string', 'null'], format: 'date' },
    },
    relations: { articles: { to: 'articles', many: true, inverse: 'author' } },
    includes: ['articles'],
    sorts: ['name'],
    pageSize: 50,
    ownIds: true,
  },
  tags: {
    attributes: { label: { type: 'string' } },
    relations: { articles: { to: 'articles', many: true, inverse: 'tags', pageSize: 2 } },
    includes: [],
    sorts: [],
    readOnly: true,
  },
}

export interface Row {
  type: string
  id: string
  attributes: Record<string, Json>
  /** Ids of the related rows; null where there is none. */
  links: Record<string, string | string[] | null>
}

const row = (type: string, id: string, attributes: Row['attributes'], links: Row['links'] = {}): Row => ({
  type,
  id,
  attributes,
  links,
})

const article = (id: string, title: string, words: number, links: Row['links']) =>
  row(
    'articles',
    id,
    { title, words, published: words > 100, subtitle: null },
    {
      editor: null,
      sequel: null,
      tags: [],
      ...links,
    },
  )

const seed = (): Row[] => [
  row('people', '1', { name: 'Ada', bornOn: '1815-12-10' }),
  row('people', '2', { name: 'Ben', bornOn: null }),
  row('people', '3', { name: 'Cleo', bornOn: '1990-01-01' }),
  row('tags', '1', { label: 'art' }),
  row('tags', '2', { label: 'science' }),
  row('tags', '3', { label: 'travel' }),
  article('1', 'Engines', 300, { author: '1', editor: '2', tags: ['1', '2'] }),
  article('2', 'Rivers', 120, { author: '2', sequel: '3', tags: ['1'] }),
  article('3', 'Bridges', 120, { author: '1', tags: ['3'] }),
  article('4', 'Clouds', 80, { author: '2', editor: '1' }),
  article('5', 'Alphabets', 900, { author: '1', tags: ['1', '2'] }),
  row('comments', '1', { body: 'Well said.' }, { article: '1' }),
  row('comments', '2', { body: 'I doubt it.' }, { article: '1' }),
  row('comments', '3', { body: 'More of this.' }, { article: '3' }),
]

/** All rows, in memory. */
export class Store {
  #rows = seed()
  #last = 100

  all(type: string): Row[] {
    return this.#rows.filter((it) => it.type === type)
  }

  find(type: string, id: string): Row | undefined {
    return this.#rows.find((it) => it.type === type && it.id === id)
  }

  newId(): string {
    return String(++this.#last)
  }

  add(row: Row): void {
    this.#rows.push(row)
  }

  remove(row: Row): void {
    this.#rows = this.#rows.filter((it) => it !== row)
    for (const other of this.#rows) this.#forget(other, row)
  }

  #forget({ type, links }: Row, gone: Row): void {
    for (const [name, relation] of Object.entries(types[type]?.relations ?? {})) {
      const held = links[name]
      if (relation.to !== gone.type || held === undefined) continue
      if (Array.isArray(held)) links[name] = held.filter((id) => id !== gone.id)
      else if (held === gone.id) links[name] = null
    }
  }

  /** The rows that a relation leads to. */
  related(row: Row, name: string): Row[] {
    const relation = types[row.type]?.relations[name]
    if (!relation) return []
    const { to, inverse } = relation
    if (inverse) return this.all(to).filter(({ links }) => [links[inverse]].flat().includes(row.id))
    return [row.links[name] ?? []].flat().flatMap((id) => this.find(to, id) ?? [])
  }
}
