import { afterAll, describe, expect, test } from 'vitest'
import { addCatalogue, base, idsOf, startJsonApi } from '../kit/json-api/client.ts'

const svc = await startJsonApi()
await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

describe('sorting and paging', () => {
  test('sorting by several keys gives equal values one order on all pages', async () => {
    await using svc = await startJsonApi()
    await svc.rows(`insert into ai_providers (provider_id, adapter, name)
      select 'p' || lpad(n::text, 2, '0'), 'demo', 'Name ' || (n % 3) from generate_series(1, 17) n`)

    const { list } = await svc.admin.get('/ai-providers?sort=-name,providerId')
    const byHand = list
      .map(({ attributes }) => [attributes['name'], attributes['providerId']] as [string, string])
      .toSorted(([a, x], [b, y]) => b.localeCompare(a) || x.localeCompare(y))

    expect(list.map(({ attributes }) => [attributes['name'], attributes['providerId']])).toEqual(byHand)
    const seen: string[] = []
    let next: string | null = `${base}/ai-providers?sort=name&page[size]=4`
    while (next) {
      const page = await svc.admin.get(next.slice(base.length))
      seen.push(...idsOf(page.list))
      next = page.links['next'] ?? null
    }
    expect(seen).toHaveLength(17)
    expect(new Set(seen).size).toBe(17)
  })

  test('paging links lead from the last page to the first with the query', async () => {
    const first = await svc.admin.get('/ai-models?page[size]=2&sort=-label&fields[ai-models]=label')
    const last = await svc.admin.get((first.links['last'] ?? '').slice(base.length))
    const prev = await svc.admin.get((last.links['prev'] ?? '').slice(base.length))

    expect(first.meta['page']).toEqual({ currentPage: 1, from: 1, to: 2, perPage: 2, lastPage: 3, total: 5 })
    expect(last.meta['page']).toEqual({ currentPage: 3, from: 5, to: 5, perPage: 2, lastPage: 3, total: 5 })
    expect(last.links['next']).toBeNull()
    expect(first.links['prev']).toBeNull()
    expect(Object.keys(prev.list[0]?.attributes ?? {})).toEqual(['label'])
    expect(prev.meta['page']).toMatchObject({ currentPage: 2 })
  })

  test('a page beyond the end is empty and leads back', async () => {
    const beyond = await svc.admin.get('/ai-models?page[number]=1000000&page[size]=1000')

    expect(beyond.status).toBe(200)
    expect(beyond.list).toEqual([])
    expect(beyond.meta['page']).toMatchObject({ from: 0, to: 0, total: 5, lastPage: 1 })
    expect(beyond.links['next']).toBeNull()
    expect((await svc.admin.get((beyond.links['first'] ?? '').slice(base.length))).list).toHaveLength(5)
  })
})
