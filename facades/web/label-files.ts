import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { Asset } from '../http/asset.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { createTranslator, type PageLanguage } from './document.ts'

/** Serves the labels of each language, and returns a function that describes the language of a caller. */
export function serveLabels(app: FastifyInstance, resolveContext: ContextResolver): (ctx: Context) => PageLanguage {
  const files = new LabelFiles()
  app.get<{ Params: { name: string } }>('/assets/labels/:name', async (request, reply) => {
    const asset = files.find(request.params.name, (await resolveContext(request, reply)).services.texts.labels)
    return asset.send(request, reply)
  })
  return ({ locale, services: { texts } }) => ({
    locale,
    translate: createTranslator(texts.labels[locale as keyof typeof texts.labels] ?? {}),
    labels: files.getAddress(locale, texts.labels),
  })
}

type LabelsByLocale = Readonly<Record<string, Readonly<Record<string, string>>>>

/** The texts of each language as files, whose names change with the content. */
class LabelFiles {
  readonly #files = new Map<string, { name: string; asset: Asset }>()

  getAddress(locale: string, all: LabelsByLocale): string {
    return `/assets/labels/${this.#getFile(locale, all).name}`
  }

  find(name: string, all: LabelsByLocale): Asset {
    const locale = name.slice(0, 5)
    const file = Object.hasOwn(all, locale) ? this.#getFile(locale, all) : undefined
    if (file?.name !== name) throw new Problem('not_found')
    return file.asset
  }

  #getFile(locale: string, all: LabelsByLocale) {
    const cached = this.#files.get(locale)
    if (cached) return cached
    const body = JSON.stringify(all[locale] ?? {})
    const name = `${locale}-${hash('sha1', body, 'hex').slice(0, 12)}.json`
    const file = {
      name,
      asset: new Asset('application/json; charset=utf-8', body, 'public, max-age=31536000, immutable'),
    }
    this.#files.set(locale, file)
    return file
  }
}
