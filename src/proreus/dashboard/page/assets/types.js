// @ts-check
/** The shapes that pass between modules; nothing runs here. */

/**
 * A served resource, as discovery describes it.
 * @typedef {object} Kind
 * @property {string} group "" is the core group.
 * @property {string} version
 * @property {string} resource
 * @property {string} kind
 * @property {boolean} namespaced
 * @property {string[]} verbs
 * @property {string[]} subresources
 * @property {string[]} shortNames
 */

/**
 * @typedef {object} Metadata
 * @property {string} name
 * @property {string} [namespace]
 * @property {string} uid
 * @property {string} resourceVersion
 * @property {string} creationTimestamp
 * @property {string} [deletionTimestamp]
 * @property {number} [generation]
 * @property {Record<string, string>} [labels]
 * @property {Record<string, string>} [annotations]
 * @property {OwnerReference[]} [ownerReferences]
 * @property {string[]} [finalizers]
 * @property {ManagedFields[]} [managedFields]
 */

/** @typedef {{apiVersion: string, kind: string, name: string, uid: string, controller?: boolean}} OwnerReference */
/** @typedef {{manager: string, operation: string, subresource?: string, time?: string, apiVersion: string, fieldsV1?: any}} ManagedFields */

/**
 * An object as the server sends it. What is inside spec and status is the kind's business.
 * @typedef {object} KubeObject
 * @property {string} [apiVersion]
 * @property {string} [kind]
 * @property {Metadata} metadata
 * @property {any} [spec]
 * @property {any} [status]
 */

/** @typedef {{name: string, type: string, format: string, description: string, priority: number}} Column */

/**
 * A row of the server's Table view, cut down to what the page shows.
 * @typedef {object} Row
 * @property {any[]} cells
 * @property {string} uid
 * @property {string} name
 * @property {string} namespace
 * @property {string} created
 * @property {string} deleted
 */

/**
 * Where the user is: the part of the address after "#".
 * @typedef {object} Place
 * @property {string[]} path
 * @property {URLSearchParams} query
 */

/**
 * What a view gets: an element that is its own until the signal says that the user has left.
 * @typedef {object} Visit
 * @property {HTMLElement} root
 * @property {Place} place
 * @property {AbortSignal} signal
 */

/**
 * How a followed collection is doing. A live one says from which resource version, and whether that
 * was listed or is where a lost watch was.
 * @typedef {{phase: "listing"} | {phase: "live", revision: string, after: "list" | "resume"} | {phase: "lost", retryAt: number, why: string} | {phase: "refused", why: string}} FollowState
 */

export {};
