import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { BASE, MEDIA, openApi, operationOf } from './openapi.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })

formats.default(ajv)

ajv.addSchema(openApi as object, 'svc')

const inPointer = (step: string) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

/** What is wrong with a value by the schema at a place of the document. */
export function wrongWith(value: unknown, ...steps: string[]) {
  // By its place, so that each schema is compiled once.
  const validate = ajv.getSchema(`svc#/${steps.map(inPointer).join('/')}`)
  if (!validate) throw new Error(`no schema at ${steps.join(' ')}`)
  return validate(value) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** What is wrong with an answer by the description of its operation. */
export function wrongWithAnswer(method: string, path: string, status: number, body: unknown) {
  const place = ['paths', BASE + path, method.toLowerCase(), 'responses', String(status)]
  const response = operationOf(method, path).responses[status]
  if (!response) return [`the status ${status} is not described`]
  const at = '$ref' in response ? ['components', 'responses', String(status)] : place
  return wrongWith(body, ...at, 'content', MEDIA, 'schema')
}

/** What is wrong with a body that is sent. */
export const wrongWithBody = (method: string, path: string, body: unknown, media = MEDIA) =>
  wrongWith(body, 'paths', BASE + path, method.toLowerCase(), 'requestBody', 'content', media, 'schema')
