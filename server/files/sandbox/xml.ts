import { DomUtils, parseDocument } from 'htmlparser2'

export type Document = ReturnType<typeof parseDocument>
export type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number]

/** Keeps entities as they are written. */
export const parseXml = (text: string): Document => parseDocument(text, { xmlMode: true, decodeEntities: false })

export const writeXml = (document: Document): string =>
  // Omits the XML declaration, as parts are written in UTF-8.
  DomUtils.getOuterHTML(
    document.children.filter(({ type }) => type === 'tag'),
    { xmlMode: true, encodeEntities: false },
  )

export const findChildren = (element: Element | undefined, name: string): Element[] =>
  (element?.children ?? []).filter(
    (child): child is Element => child.type === 'tag' && (child as Element).name === name,
  )

export const findChild = (element: Element | undefined, name: string): Element | undefined =>
  findChildren(element, name)[0]

/** Returns an attribute, by default `w:val`, which most elements of Word use. */
export const attributeOf = (element: Element | undefined, name = 'w:val'): string | undefined => element?.attribs[name]
