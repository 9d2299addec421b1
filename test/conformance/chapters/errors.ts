import { applies, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import { isObject, type Json, type JsonObject, object, objects, short, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { pointTo, urlOf } from '../walk.ts'

const { must, should } = chapter('errors')

const MEMBERS = ['id', 'links', 'status', 'code', 'title', 'detail', 'source', 'meta']
const WORDS = ['id', 'status', 'code', 'title', 'detail']
/** Errors that a request causes, whatever data there is. */
const BAD_REQUESTS = [400, 406, 415, 422]
const SOURCES = ['pointer', 'parameter', 'header']

const failures = async (server: TargetServer) => {
  await server.survey()
  const failed = server.seen.filter(({ status, text: written }) => status >= 400 && written !== '')
  applies(failed.length > 0, 'nothing failed')
  return failed
}

type Judge = (error: JsonObject, answer: Answer) => string | undefined

/** Judges every error object that has one of the members. */
const inErrors = (members: string[], judge: Judge) => async (server: TargetServer) => {
  const all = (await failures(server)).flatMap((answer) => errorsOf(answer).map((error) => ({ answer, error })))
  const found = all.filter(
    ({ error }) => members.length === 0 || members.some((name) => pointTo(error, name) !== undefined),
  )
  applies(found.length > 0, 'no error object has such a member')
  const findings = found.flatMap(({ error, answer }): Finding[] => {
    const wrong = judge(error, answer)
    return wrong ? [{ at: answer.at, seen: wrong }] : []
  })
  refuse(findings)
}

const sourceOf = (error: JsonObject) => object(error['source'])
const errorsOf = ({ document }: Answer) => objects(document['errors'])

export const errors = [
  must('array', 'Error Objects [2149]', 'Failures are told in an array errors of objects.', async (server) => {
    const wrong = (await failures(server)).filter(
      ({ document: { errors: found } }) => !Array.isArray(found) || found.length === 0 || !found.every(isObject),
    )
    refuse(wrong.map(({ at, text: written }) => ({ at, seen: short(written) })))
  }),

  must(
    'members',
    'Error Objects [2152]',
    'An error object has at least one of the defined members, and no others.',
    inErrors([], (error) => {
      const names = Object.keys(error)
      const others = names.filter((name) => !MEMBERS.includes(name) && !name.includes(':') && !name.startsWith('@'))
      if (others.length > 0) return `unknown members ${others.join(', ')}`
      return names.some((name) => MEMBERS.includes(name)) ? undefined : 'an empty error object'
    }),
  ),

  must(
    'words',
    'Error Objects [2164]',
    'id, status, code, title and detail are strings.',
    inErrors(
      WORDS.map((name) => `/${name}`),
      (error) => {
        const wrong = WORDS.filter((name) => name in error && typeof error[name] !== 'string')
        return wrong.length > 0 ? wrong.map((name) => `${name} ${short(error[name])}`).join(', ') : undefined
      },
    ),
  ),

  must(
    'links',
    'Error Objects [2152]',
    'The links of an error object are about and type.',
    inErrors(['/links'], ({ links }) => {
      const isRight =
        isObject(links) &&
        Object.entries(links).every(([name, link]) => ['about', 'type'].includes(name) && urlOf(link) !== '')
      return isRight ? undefined : `links ${short(links)}`
    }),
  ),

  must(
    'source',
    'Error Objects [2172]',
    'The source is an object of pointer, parameter or header, each a string.',
    inErrors(['/source'], ({ source }) => {
      const isRight =
        isObject(source) &&
        Object.entries(source).every(([name, value]) => SOURCES.includes(name) && typeof value === 'string')
      return isRight ? undefined : `source ${short(source)}`
    }),
  ),

  must(
    'pointer',
    'Error Objects [2176]',
    'A pointer leads to something in the request.',
    inErrors(['/source/pointer'], (error, { sent }) => {
      const { pointer } = sourceOf(error)
      return pointTo(sent, text(pointer)) === undefined
        ? `pointer ${short(pointer)} leads nowhere in ${short(sent)}`
        : undefined
    }),
  ),

  must(
    'parameter',
    'Error Objects [2172]',
    'A parameter that is named stands in the request.',
    inErrors(['/source/parameter'], (error, { url }) => {
      const { parameter } = sourceOf(error)
      if (new URL(url).searchParams.has(text(parameter))) return undefined
      return `parameter ${short(parameter)} is not in the request`
    }),
  ),

  should(
    'status',
    'Error Objects [2164]',
    'An error object says its status.',
    inErrors([], (error) => ('status' in error ? undefined : `no status in ${short(error)}`)),
  ),

  should(
    'status-agrees',
    'Error Objects [2164]',
    'The status of a single error is that of the answer.',
    async (server) => {
      const wrong = (await failures(server)).filter((answer) => {
        const [error, ...others] = errorsOf(answer)
        return (
          others.length === 0 && error?.['status'] !== undefined && String(error['status']) !== String(answer.status)
        )
      })
      refuse(
        wrong.map((answer) => ({
          at: answer.at,
          seen: `status ${short(errorsOf(answer)[0]?.['status'])} in an answer with ${answer.status}`,
        })),
      )
    },
  ),

  should(
    'title',
    'Error Objects [2166]',
    'The title of a problem does not vary: one code, one title.',
    async (server) => {
      const all = (await failures(server)).flatMap((answer) =>
        errorsOf(answer).map((error) => ({ at: answer.at, error })),
      )
      const known = all.filter(({ error }) => error['code'] !== undefined && error['title'] !== undefined)
      applies(known.length > 0, 'no error has a code and a title')
      const titles = new Map(known.map(({ error }) => [text(error['code']), error['title']]))
      const wrong = known.filter(({ error }) => titles.get(text(error['code'])) !== error['title'])
      refuse(
        wrong.map(({ at, error }) => ({
          at,
          seen: `${error['code']} is "${error['title']}", and elsewhere "${titles.get(text(error['code']))}"`,
        })),
      )
    },
  ),

  should(
    'source-given',
    'Error Objects [2172]',
    'A problem with what was sent says its source: a pointer, a parameter or a header.',
    async (server) => {
      const failed = await failures(server)
      const all = failed.filter((answer) => BAD_REQUESTS.includes(answer.status) && errorsOf(answer).length > 0)
      applies(all.length > 0, 'nothing that was sent is refused')
      const wrong = all.filter((answer) =>
        errorsOf(answer).some((error) => !SOURCES.some((it) => it in sourceOf(error))),
      )
      refuse(wrong.map((answer) => ({ at: answer.at, seen: `no source in ${short(answer.document['errors'])}` })))
    },
  ),

  should('source-of-query', 'Error Objects [2172]', 'A problem with a query parameter names it.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async ({ path }) => {
      for (const name of ['nonesuch', 'include', 'sort', 'page[nonesuch]']) {
        const answer = await server.get(path, { [name]: 'nonesuch' })
        applies(answer.status === 400, 'a bad parameter is not refused')
        const found = errorsOf(answer)
        demand(
          found.length > 0 && found.every((error) => sourceOf(error)['parameter'] === name),
          answer.at,
          `not only the parameter ${name} in ${short(answer.body)}`,
        )
      }
    }),
  ),

  should('source-of-body', 'Error Objects [2172]', 'A problem with a document points to it.', (server) =>
    each(server.makeable(), 'nothing can be made', async (type) => {
      const { data } = await server.newDocument(type)
      const answer = await server.create(type, { data: { ...data, type: 'nonesuch' } })
      demand(
        errorsOf(answer).some((error) => text(sourceOf(error)['pointer']).startsWith('/data')),
        answer.at,
        `no pointer in ${short(answer.body)}`,
      )
    }),
  ),

  should('source-of-header', 'Error Objects [2172]', 'A problem with a header names it.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async ({ path }) => {
      const answer = await server.get(path, '', { accept: 'application/vnd.api+json; version="1"' })
      applies(answer.status === 406, 'a bad Accept is not refused')
      const header = errorsOf(answer).map((error): Json => sourceOf(error)['header'] ?? null)
      demandEqual(
        header.map((name) => text(name).toLowerCase()),
        ['accept'],
        answer.at,
        'the header',
      )
    }),
  ),

  should(
    'general-status',
    'Processing Errors [2142]',
    'Several problems at once give the status that fits them all.',
    (server) =>
      each(server.typesWith('list'), 'no collection can be read', async ({ path }) => {
        demandStatus(await server.get(path, { nonesuch: '1', include: 'nonesuch', sort: 'nonesuch' }), 400)
      }),
  ),
]
