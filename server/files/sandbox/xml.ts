import render from 'dom-serializer'
import { type DomUtils, parseDocument } from 'htmlparser2'

export type Document = ReturnType<typeof parseDocument>
export type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number]

/** Texts and attributes stay as they are written, with their entities. */
export const parseXml = (text: string): Document => parseDocument(text, { xmlMode: true, decodeEntities: false })

export const writeXml = (document: Document): string =>
  // Without what stands in front of the root: a part is written in UTF-8, and needs no declarations.
  render(
    document.children.filter(({ type }) => type === 'tag'),
    { xmlMode: true, encodeEntities: false },
  )

export const childrenOf = (element: Element | undefined, name: string): Element[] =>
  (element?.children ?? []).filter(
    (child): child is Element => child.type === 'tag' && (child as Element).name === name,
  )

export const childOf = (element: Element | undefined, name: string): Element | undefined => childrenOf(element, name)[0]

/** Most elements of Word say something in their one attribute. */
export const attributeOf = (element: Element | undefined, name = 'w:val'): string | undefined => element?.attribs[name]
