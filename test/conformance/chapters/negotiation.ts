import { demand, demandStatus, each, refuse } from '../check.ts'
import { MEDIA_TYPE } from '../media-type.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'

const { must, should } = chapter('negotiation')

const UNKNOWN = 'https://example.org/conformance/unknown'
const OTHER_PARAMETER = `${MEDIA_TYPE}; version="1"`
const UNKNOWN_EXTENSION = `${MEDIA_TYPE}; ext="${UNKNOWN}"`
const UNKNOWN_PROFILE = `${MEDIA_TYPE}; profile="${UNKNOWN}"`

/** Every collection, asked with an Accept header. */
const accepting =
  (accept: string, ...statuses: number[]) =>
  (server: TargetServer) =>
    each(server.typesWith('list'), 'no collection can be read', async ({ path }) => {
      const answer = await server.get(path, '', { accept })
      demandStatus(answer, ...statuses)
    })

/** A creation of every type, sent with a Content-Type header. */
const sending = (contentType: string, judge: (status: number) => boolean, wanted: string) => (server: TargetServer) =>
  each(server.makeable(), 'nothing can be made', async (type) => {
    const answer = await server.create(type, await server.newDocument(type), { 'content-type': contentType })
    demand(judge(answer.status), answer.at, `status ${answer.status} for ${contentType}, not ${wanted}`)
  })

const isOurType = (contentType: string | null) =>
  /^application\/vnd\.api\+json\s*(;\s*(ext|profile)=("[^"]*"|[^\s;"]+)\s*)*$/i.test(contentType ?? '')

export const negotiation = [
  must(
    'media-type',
    'Universal Responsibilities [193]',
    'Every document is sent as JSON:API, with no parameter but ext and profile.',
    async (server) => {
      await server.survey()
      const wrong = server.seen.filter(({ text, headers }) => text !== '' && !isOurType(headers.get('content-type')))
      refuse(wrong.map(({ at, headers }) => ({ at, seen: `content type ${headers.get('content-type')}` })))
    },
  ),

  must(
    'accepted',
    'Server Responsibilities [243]',
    'An Accept header that names the plain media type is answered.',
    accepting(MEDIA_TYPE, 200),
  ),

  must(
    'anything-accepted',
    'Server Responsibilities [243]',
    'An Accept header without the media type, such as */*, is no reason for 406 as to parameters.',
    accepting('*/*', 200),
  ),

  must(
    'other-parameter-406',
    'Server Responsibilities [248]',
    'Accept with nothing but instances that carry other parameters gives 406.',
    accepting(OTHER_PARAMETER, 406),
  ),

  must(
    'every-instance-406',
    'Server Responsibilities [248]',
    'It takes all instances: two that are both unfit give 406.',
    accepting(`${OTHER_PARAMETER}, ${UNKNOWN_EXTENSION}`, 406),
  ),

  must(
    'one-fit-instance',
    'Server Responsibilities [243]',
    'Instances with other parameters are skipped where a fit one stands beside them.',
    accepting(`${OTHER_PARAMETER}, ${MEDIA_TYPE}`, 200),
  ),

  must(
    'unknown-extension-406',
    'Server Responsibilities [248]',
    'Accept with nothing but an unknown extension gives 406.',
    accepting(UNKNOWN_EXTENSION, 406),
  ),

  must(
    'unknown-extension-skipped',
    'Server Responsibilities [243]',
    'An unknown extension is skipped where a plain instance stands beside it.',
    accepting(`${UNKNOWN_EXTENSION}, ${MEDIA_TYPE}`, 200),
  ),

  must(
    'unknown-profile-accepted',
    'Server Responsibilities [251]',
    'An unknown profile in Accept is ignored.',
    accepting(UNKNOWN_PROFILE, 200),
  ),

  should('vary', 'Server Responsibilities [259]', 'Answers say Vary: Accept.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async (type) => {
      const { at, headers } = await server.list(type)
      const vary = headers.get('vary') ?? ''
      demand(/(^|[\s,])(accept|\*)($|[\s,])/i.test(vary), at, `Vary is "${vary}"`)
    }),
  ),

  must(
    'other-parameter-415',
    'Server Responsibilities [229]',
    'A request type with another parameter than ext and profile gives 415.',
    sending(OTHER_PARAMETER, (status) => status === 415, '415'),
  ),

  must(
    'charset-415',
    'Server Responsibilities [229]',
    'A charset is such another parameter.',
    sending(`${MEDIA_TYPE}; charset=utf-8`, (status) => status === 415, '415'),
  ),

  must(
    'unknown-extension-415',
    'Server Responsibilities [235]',
    'A request type with an unknown extension gives 415.',
    sending(UNKNOWN_EXTENSION, (status) => status === 415, '415'),
  ),

  must(
    'unknown-profile-sent',
    'Server Responsibilities [251]',
    'An unknown profile in the request type is ignored.',
    sending(UNKNOWN_PROFILE, (status) => status < 300, 'success'),
  ),

  should(
    'other-media-type',
    'Universal Responsibilities [193]',
    'A body of another media type is not taken for a document.',
    (server) => {
      server.requireWrites()
      const routes = [...server.typesWith('create').map(({ path }) => path), ...server.api.actions]
      return each(routes, 'nothing takes a body', async (path) => {
        // The body is no JSON, so that it creates nothing: a server that checks the type first refuses it for that.
        const answer = await server.send('POST', path, {
          body: 'not a document',
          headers: { 'content-type': 'application/json' },
        })
        const isHidden = [401, 403, 404].includes(answer.status)
        demand(isHidden || answer.status === 415, answer.at, `status ${answer.status} for application/json, not 415`)
      })
    },
  ),

  must(
    'jsonapi-ignored',
    'JSON:API Object [834]',
    'What the jsonapi object of a request says is no ground for refusing it.',
    (server) =>
      each(server.makeable(), 'nothing can be made', async (type) => {
        const document = { ...(await server.newDocument(type)), jsonapi: { version: '1.0', ext: [UNKNOWN] } }
        demandStatus(await server.create(type, document), 201, 202, 204)
      }),
  ),
]
